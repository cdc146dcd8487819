#include "server/internal.h"

#include "base/sockets.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <string.h>

static void read_address(struct peer *p, const struct sockaddr *from) {
  const void *raw = NULL;
  if (from->sa_family == AF_INET) raw = &((const struct sockaddr_in *)(const void *)from)->sin_addr;
  if (from->sa_family == AF_INET6) raw = &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
  if (raw) inet_ntop(from->sa_family, raw, p->address, sizeof p->address);
}

/* ---- certificates ---- */

/* Whether the chain ends at one that was given as trusted, and says that it is for clients. */
static bool verified(gnutls_session_t session) {
  unsigned status = ~0u;
  gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                   .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
  return gnutls_certificate_verify_peers(session, &purpose, 1, &status) == GNUTLS_E_SUCCESS && status == 0;
}

static void read_name(struct peer *p, const gnutls_datum_t *der) {
  gnutls_x509_crt_t certificate;
  size_t size = sizeof p->certificate;
  if (gnutls_x509_crt_init(&certificate) != GNUTLS_E_SUCCESS) return;
  if (gnutls_x509_crt_import(certificate, der, GNUTLS_X509_FMT_DER) != GNUTLS_E_SUCCESS ||
      gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0, p->certificate, &size))
    p->certificate[0] = '\0';
  gnutls_x509_crt_deinit(certificate);
}

static void read_certificate(struct peer *p, struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  gnutls_session_t session = info ? info->tls_session : NULL;
  unsigned count = 0;
  const gnutls_datum_t *chain = session ? gnutls_certificate_get_peers(session, &count) : NULL;
  if (chain && count && verified(session)) read_name(p, &chain[0]);
}

bool exchange_peer(const struct exchange *x, struct peer *p) {
  *p = (struct peer){.uid = -1};
  if (!x->connection) return false;
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info && info->client_addr) read_address(p, info->client_addr);
  if (!p->address[0]) p->uid = socket_user(connection_socket(x->connection));
  if (x->daemon && x->daemon->asks_certificates) read_certificate(p, x->connection);
  return true;
}
