"""The parts of the Training tab: how a translator comes to be."""
