// Package peers holds tests with the reference tools of the formats: what farread
// writes, they read, and the reverse. They need Python with gulpio2, blosc, blosc2
// and bloscpack, and the build tag "peers": make venv, then make peers. Version 4 of
// Bloscpack and zoom-cache files have no such tool at hand; vlblp.py and zoomref.py,
// which need only NumPy and blosc, stand in for it.
package peers
