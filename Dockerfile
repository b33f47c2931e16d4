# The image of a release: one program and the certificates that it trusts; no shell, and a
# user that owns nothing. scripts/image-root.sh makes the folder that it is built from:
#
#   make image && docker run --rm -v "$PWD:/data" farread info x.b2nd
FROM scratch
COPY root/ /
USER 65532:65532
# What may be written: a volume or --tmpfs here, for --cache and for packing from pipes.
ENV HOME=/tmp TMPDIR=/tmp
WORKDIR /data
ENTRYPOINT ["/farread"]
CMD ["help"]
