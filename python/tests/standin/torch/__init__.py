"""A stand-in, where torch is not installed: what of torch.utils.data a dataset of farread meets."""

from . import utils as utils
