"""Text to a 64x64 face picture: latent diffusion transformer (docs/models.md section 1)."""
