"""Reads a QR code as ISO/IEC 18004 says: by nothing of what draws it."""

import re

# By version: centres of its alignment patterns; by version and level of correction how
# many blocks there are, and of each the data and all codewords.
CENTRES = {2: (6, 18), 4: (6, 26), 11: (6, 30, 54)}
BLOCKS = {(2, "M"): (1, 28, 44), (4, "M"): (2, 32, 50), (11, "L"): (4, 81, 101)}
FINDER = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"]
MASKS = (
    lambda r, c: (r + c) % 2,
    lambda r, c: r % 2,
    lambda r, c: c % 3,
    lambda r, c: (r + c) % 3,
    lambda r, c: (r // 2 + c // 3) % 2,
    lambda r, c: r * c % 2 + r * c % 3,
    lambda r, c: (r * c % 2 + r * c % 3) % 2,
    lambda r, c: ((r + c) % 2 + r * c % 3) % 2,
)


def modules(svg):
    """The modules of a code, row by row, 1 for a dark one: drawn in strokes a unit wide,
    with a light edge of four."""
    size = int(re.search(r'viewBox="0 0 (\d+) ', svg)[1])
    rows = [[0] * size for _ in range(size)]
    x = y = 0.0
    path = re.search(r'stroke="#000" d="(.*?)"', svg)[1]
    for across, down, run in re.findall(r"[Mm](-?\d+) (-?[\d.]+)h(\d+)", path):
        x, y = x + int(across), y + float(down)
        rows[int(y)][int(x) : int(x) + int(run)] = [1] * int(run)
        x += int(run)
    edge = [*rows[:4], *rows[-4:], *(row[:4] + row[-4:] for row in rows)]
    assert not any(map(any, edge)) and f"M0 0h{size}v{size}" in svg
    return [row[4:-4] for row in rows[4:-4]]


def read(svg):
    """The text of a code, which must have no error that a reader would correct."""
    rows = modules(svg)
    size = len(rows)
    version = (size - 17) // 4
    for top, left in ((0, 0), (0, size - 7), (size - 7, 0)):
        found = [row[left : left + 7] for row in rows[top : top + 7]]
        assert ["".join(map(str, row)) for row in found] == FINDER
    assert all(rows[6][i] == rows[i][6] == 1 - i % 2 for i in range(8, size - 8))
    way = [*range(6), 7, 8]  # around a corner, past the timing pattern
    first = [rows[8][i] for i in way] + [rows[i][8] for i in way[-2::-1]]
    second = [rows[-1 - i][8] for i in range(7)] + rows[8][-8:]
    assert first == second and rows[size - 8][8] == 1
    written = int("".join(map(str, first)), 2)
    level, mask = "MLHQ"[(written ^ 0x5412) >> 13], (written ^ 0x5412) >> 10 & 7
    own = {(r, c) for r in range(size) for c in range(size) if 6 in (r, c)}
    own |= {(r, c) for r in range(9) for c in (*range(9), *range(size - 8, size))}
    own |= {(r, c) for r in range(size - 8, size) for c in range(9)}
    if version > 6:
        own |= {(r, c) for r in range(6) for c in range(size - 11, size - 8)}
        own |= {(c, r) for r in range(6) for c in range(size - 11, size - 8)}
    corners = {(6, 6), (6, size - 7), (size - 7, 6)}
    centres = [(r, c) for r in CENTRES[version] for c in CENTRES[version]]
    for r, c in {*centres} - corners:
        own |= {(r + i, c + k) for i in range(-2, 3) for k in range(-2, 3)}
    bits = ""
    for turn, right in enumerate([*range(size - 1, 6, -2), 5, 3, 1]):
        for r in range(size) if turn % 2 else reversed(range(size)):
            for c in (right, right - 1):
                if (r, c) not in own:
                    bits += str(rows[r][c] ^ (MASKS[mask](r, c) == 0))
    count, data, whole = BLOCKS[version, level]
    words = [int(bits[8 * i : 8 * i + 8], 2) for i in range(count * whole)]
    blocks = [words[i::count] for i in range(count)]
    assert not any(syndrome(one, i) for one in blocks for i in range(whole - data))
    text = "".join(f"{word:08b}" for one in blocks for word in one[:data])
    wide = 8 if version < 10 else 16
    assert text[:4] == "0100", "bytes"
    length, text = int(text[4 : 4 + wide], 2), text[4 + wide :]
    return bytes(int(text[8 * i : 8 * i + 8], 2) for i in range(length)).decode()


def syndrome(words, power):
    """The value of a block, as a polynomial over the field of 256, at 2 ** power: 0
    where no word is wrong."""
    value = 0
    for word in words:
        for _ in range(power):
            value = value << 1 ^ (0x11D if value & 128 else 0)
        value ^= word
    return value
