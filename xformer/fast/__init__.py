"""What makes a plain model quick on a CPU: packed weights, and a network whose modules
are cheap to call, which takes the steps of a search.

Nothing here changes an answer but in its last bits; tests hold each quick way equal to
the plain one.
"""

from xformer.fast.networks import pack, plain, stepping
from xformer.fast.products import multiplies_8_bits

__all__ = ["multiplies_8_bits", "pack", "plain", "stepping"]
