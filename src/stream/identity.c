#include "stream/identity.h"

#include <openssl/objects.h>
#include <openssl/x509v3.h>
#include <string.h>

/* Issuers whose certificates say by an object id what the device is. */
static const char *const issuers_with_oid[] = {
    "Tesla Motors Product Issuing CA",           "Tesla Motors Product RSA Issuing CA",
    "Tesla Motors GF3 Product Issuing CA",       "Tesla Motors GF3 Product RSA Issuing CA",
    "Tesla Energy Product Issuing CA",           "Tesla Energy GF0 Product Issuing CA",
    "Tesla Motors GF0 Product Issuing CA",       "Tesla Motors GF Austin Product Issuing CA",
    "Tesla Motors GF Berlin Product Issuing CA", "Tesla Product Access Issuing CA",
    "Tesla China Product Access Issuing CA",     "Tesla GF0 Product Access Issuing CA",
    "Tesla GF3 Product Access Issuing CA",       "Tesla GF Austin Product Access Issuing CA",
    "Tesla GF Berlin Product Access Issuing CA",
};

/* Issuers of vehicles alone. */
static const char *const vehicle_issuers[] = {"TeslaMotors", "Tesla Issuing CA", "Tesla Motors Products CA"};

static const char production[] = "1.3.6.1.4.1.49279.2.5.", engineering[] = "1.3.6.1.4.1.49279.2.4.";
static const char wireless[] = "1.3.6.1.4.1.49279.2.5.1.1";

static const struct {
  const char *number, *kind;
} kinds[] = {
    {"1", "vehicle_device"},  {"2", "energy_device"},    {"11", "vehicle_board_device"},
    {"12", "das_device"},     {"14", "vehicle_service"}, {"15", "das_service"},
    {"16", "energy_service"}, {"28", "robotics_device"},
};

static bool is_one_of(const char *name, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(name, list[i]) == 0) return true;
  return false;
}

/* The n-th text of a kind in a name, as UTF-8 without NUL; false: there is none, or it is too long. */
static bool name_text(const X509_NAME *name, int nid, int n, char *out, size_t room) {
  int at = -1;
  for (int i = 0; i <= n; i++) at = X509_NAME_get_index_by_NID(name, nid, at);
  if (at < 0) return false;
  unsigned char *text = NULL;
  int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
  bool good = size >= 0 && (size_t)size < room && !memchr(text, 0, (size_t)size);
  if (good) {
    memcpy(out, text, (size_t)size);
    out[size] = '\0';
  }
  OPENSSL_free(text);
  return good;
}

/* The last common name counts, as for the maker's server. */
static bool common_name(const X509_NAME *name, char *out, size_t room) {
  int last = -1;
  for (int at = -1; (at = X509_NAME_get_index_by_NID(name, NID_commonName, at)) >= 0;) last++;
  return last >= 0 && name_text(name, NID_commonName, last, out, room);
}

static const char *kind_of_number(const char *number) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(number, kinds[i].number) == 0) return kinds[i].kind;
  return NULL;
}

/* The kind by the first object id that says one; NULL: none does, or it is a certificate for Wi-Fi. */
static const char *kind_by_usage(X509 *leaf) {
  const char *kind = NULL;
  EXTENDED_KEY_USAGE *usages = X509_get_ext_d2i(leaf, NID_ext_key_usage, NULL, NULL);
  for (int i = 0; i < sk_ASN1_OBJECT_num(usages) && !kind; i++) {
    char oid[80];
    int size = OBJ_obj2txt(oid, sizeof oid, sk_ASN1_OBJECT_value(usages, i), 1);
    if (size <= 0 || (size_t)size >= sizeof oid) continue;
    if (strcmp(oid, wireless) == 0) break;
    if (strncmp(oid, production, sizeof production - 1) == 0)
      kind = kind_of_number(oid + sizeof production - 1);
    if (strncmp(oid, engineering, sizeof engineering - 1) == 0)
      kind = kind_of_number(oid + sizeof engineering - 1);
  }
  EXTENDED_KEY_USAGE_free(usages);
  return kind;
}

static const char *kind_by_unit(const X509_NAME *subject, const char *kind) {
  char unit[64];
  for (int i = 0; kind && X509_NAME_get_index_by_NID(subject, NID_organizationalUnitName, -1) >= 0 && i < 16;
       i++) {
    if (!name_text(subject, NID_organizationalUnitName, i, unit, sizeof unit)) continue;
    if (strcmp(unit, "Gen3 Wall Connector") == 0) return "wall_connector_device";
    if (strcmp(unit, "Solar Inverter") == 0) return "solar_inverter_device";
  }
  return kind;
}

bool identity_of(X509 *leaf, struct identity *out, struct err *e) {
  const X509_NAME *subject = X509_get_subject_name(leaf);
  char issuer[128], unit[64];
  *out = (struct identity){0};
  if (!common_name(subject, out->id, sizeof out->id) || !out->id[0])
    return err_set(e, KIND_forbidden, "the client certificate names no device");
  for (char *at = out->id; *at; at++)
    if (*at == '.') *at = '-';
  if (!common_name(X509_get_issuer_name(leaf), issuer, sizeof issuer))
    return err_set(e, KIND_forbidden, "the client certificate names no issuer");
  if (is_one_of(issuer, issuers_with_oid, sizeof issuers_with_oid / sizeof *issuers_with_oid)) {
    out->kind = kind_by_unit(subject, kind_by_usage(leaf));
    if (!out->kind)
      return err_set(e, KIND_forbidden, "the client certificate does not say what device it belongs to");
    return true;
  }
  if (!is_one_of(issuer, vehicle_issuers, sizeof vehicle_issuers / sizeof *vehicle_issuers))
    return err_set(e, KIND_forbidden,
                   "the client certificate was issued by '%s', which issues none to vehicles", issuer);
  out->kind = "vehicle_device";
  if (strcmp(issuer, "Tesla Motors Products CA") == 0 &&
      name_text(subject, NID_organizationalUnitName, 0, unit, sizeof unit) &&
      strcmp(unit, "Tesla Motors SN") == 0)
    out->kind = "vehicle_board_device";
  return true;
}

bool chain_may_be_client(STACK_OF(X509) * chain) {
  for (int i = 0; i < sk_X509_num(chain); i++) {
    uint32_t usage = X509_get_extended_key_usage(sk_X509_value(chain, i)); /* UINT32_MAX: absent */
    if (!(usage & (XKU_SSL_CLIENT | XKU_ANYEKU))) return false;
  }
  return true;
}
