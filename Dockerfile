# For those who have Docker: docker build --target operator -t fairlead.dev/operator:dev .   (also console, router, speaker, demo)
# The project itself builds its images without Docker: make images
# Name the base images by digest where you publish: --build-arg GOLANG=golang@sha256:... --build-arg DEBIAN=debian@sha256:...
ARG GOLANG=golang:1.26-bookworm
ARG DEBIAN=debian:sid-slim
FROM ${GOLANG} AS build
WORKDIR /src
ENV CGO_ENABLED=0
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN go build -trimpath -buildvcs=false -ldflags "-s -w" -o /out/ ./cmd/... \
 && go build -trimpath -buildvcs=false -ldflags "-s -w" -o /out/demo ./test/demoapp

# The newest HAProxy, or that of --build-arg HAPROXY_VERSION=3.2, with the libraries of the suite that it was built for.
FROM ${DEBIAN} AS haproxy
ARG HAPROXY_VERSION=
RUN mirror=$(sed -n 's/^URIs: //p' /etc/apt/sources.list.d/debian.sources | head -1) \
 && echo "deb $mirror experimental main" > /etc/apt/sources.list.d/experimental.list \
 && apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates \
    "haproxy=$(apt-cache madison haproxy | awk '{print $3}' | grep "^$HAPROXY_VERSION" | sort -rV | head -1)" \
 && rm -rf /var/lib/apt/lists/*
# HAProxy with its loader and libraries, and the one that glibc loads by itself: no shell, no package manager.
RUN mkdir /out && ldd /usr/sbin/haproxy | grep -o '/[^ ]*' \
  | xargs cp --parents -L -t /out /usr/sbin/haproxy /etc/ssl/certs/ca-certificates.crt /usr/lib/*-linux-gnu/libgcc_s.so.1

FROM scratch AS operator
COPY --from=haproxy /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/operator /usr/bin/operator
USER 65532:65532
ENTRYPOINT ["/usr/bin/operator"]

FROM scratch AS console
COPY --from=build /out/console /usr/bin/console
USER 65532:65532
ENTRYPOINT ["/usr/bin/console"]

# A user other than root holds a capability by the program's file: the speaker
# NET_RAW, a router on the network of its node NET_BIND_SERVICE.
FROM build AS capable
RUN apt-get update && apt-get install -y --no-install-recommends libcap2-bin \
 && setcap cap_net_raw+ep /out/speaker && setcap cap_net_bind_service+p /out/router

FROM scratch AS speaker
COPY --from=capable /out/speaker /usr/bin/speaker
COPY --from=build /out/speaker-bgp /usr/bin/speaker-bgp
USER 65532:65532
ENTRYPOINT ["/usr/bin/speaker"]

FROM scratch AS demo
COPY --from=build /out/demo /usr/bin/demo
USER 65532:65532
ENTRYPOINT ["/usr/bin/demo"]

FROM scratch AS router
COPY --from=haproxy /out/ /
COPY --from=capable /out/router /usr/bin/router
COPY --from=build /out/router-firewall /usr/bin/router-firewall
USER 65532:65532
ENTRYPOINT ["/usr/bin/router"]
