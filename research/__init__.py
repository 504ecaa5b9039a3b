"""What made the weights and the tables that ship: data, studies, fits. It is not part
of the package."""
