# The image of a release: one program and the certificates that it trusts; no shell, and a
# user that owns nothing. scripts/image-root.sh makes the folder that it is built from:
#
#   make image && docker run --rm -v "$PWD:/data" farread info x.b2nd
FROM scratch
ARG VERSION=devel
LABEL org.opencontainers.image.title=farread \
      org.opencontainers.image.description="Chunked datasets, read from object storage with few ranged requests" \
      org.opencontainers.image.source=https://github.com/farread/farread \
      org.opencontainers.image.licenses=Apache-2.0 \
      org.opencontainers.image.version=$VERSION
COPY root/ /
USER 65532:65532
# What may be written: a volume or --tmpfs here, for --cache and for packing from pipes.
ENV HOME=/tmp TMPDIR=/tmp
WORKDIR /data
ENTRYPOINT ["/farread"]
CMD ["help"]
