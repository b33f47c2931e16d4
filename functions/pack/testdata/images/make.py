"""Makes the images of this folder with Pillow, of a photograph that comes with Go: make.py GOROOT."""
import os
import sys

from PIL import Image

src = os.path.join(sys.argv[1], "src", "image", "testdata")
photo = Image.open(os.path.join(src, "video-001.png")).convert("RGB").resize((48, 32))
other = photo.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
alpha = photo.copy()
alpha.putalpha(128)
photo.save("photo.webp", quality=40)
photo.resize((17, 11)).save("lossless.webp", lossless=True)
alpha.resize((24, 16)).save("alpha.webp", quality=40)
photo.resize((24, 16)).save("frames.webp", save_all=True, append_images=[other.resize((24, 16))], quality=40)
photo.save("photo.avif", quality=40)
photo.resize((24, 16)).save("frames.avif", save_all=True, append_images=[other.resize((24, 16))], quality=40)
photo.quantize(16).save("photo.png")
photo.resize((17, 11)).save("rgb.png")
photo.resize((24, 16)).quantize(8).save("photo.gif")
photo.resize((24, 16)).quantize(8).save("frames.gif", save_all=True, append_images=[other.resize((24, 16)).quantize(8)])
photo.save("photo.jpg", quality=40)
photo.save("progressive.jpg", quality=40, progressive=True)
