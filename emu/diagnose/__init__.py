"""Why a kernel differs: the known reasons, each tried and told only as far as it was confirmed."""
