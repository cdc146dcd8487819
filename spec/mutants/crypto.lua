local base64, key, receiver = "spec/crypto/base64_spec.lua", "spec/crypto/key_spec.lua", "spec/signing/receiver_spec.lua"
local x509 = "spec/crypto/x509_spec.lua"
local jws, session = "spec/signing/jws_spec.lua", "spec/signing/session_spec.lua"

return {
  { "src/base/buf.c", "return whole && v == 0;", "return whole;", { base64 } },
  { "src/base/buf.c", "if (in.size % 4) return false;", "", { base64 } },
  { "src/base/buf.c", "return difference == 0;", "return a.size > 0 || difference == 0;", { session } },
  { "src/base/buf.c", "if (a.size != b.size) return false;", "if (a.size > b.size) return false;", { "spec/oauth/authorize_spec.lua" } },
  { "src/crypto/aead.c", "EVP_CipherFinal_ex(x, rest, &size) > 0;", "true;", { receiver, session } },
  { "src/crypto/aead.c", "|| tag.size != GCM_TAG_SIZE", "", { receiver, session } },
  { "src/crypto/mac.c", "return set_key(s->context, k)", "return rearm(s->context)", { "spec/signing/command_spec.lua" } },
  { "src/crypto/ecdh.c", "peer.size != PUBLIC_SIZE || peer.data[0] != POINT_CONVERSION_UNCOMPRESSED", "false", { key, receiver, session } },
  { "src/crypto/key.c", "BN_cmp(d, EC_GROUP_get0_order(g)) < 0", "true", { key } },
  { "src/crypto/pem_read.c", "bool ok = is_p256(half, e);", "bool ok = true;", { key } },
  { "src/crypto/pem_read.c", "return ok || mismatch(e);", "return true;", { key } },
  { "src/crypto/x509.c", "certificate && at == der + size", "certificate", { x509 } },
  { "src/crypto/x509.c", "answer == X509_V_OK || answer == X509_V_ERR_KEYUSAGE_NO_CERTSIGN", "answer == X509_V_OK", { x509 } },
  { "src/crypto/x509.c", "sk_X509_num(all) == CHAIN_MOST", "sk_X509_num(all) > CHAIN_MOST", { x509 } },
  { "src/crypto/x509.c", "(pem.size && memchr(pem.data, 0, pem.size))", "false", { x509 } },
  { "src/crypto/x509.c", "X509_get0_notAfter", "X509_get0_notBefore", { x509 } },
  { "src/crypto/keyfile.c", "file_overwrite(fd, pem) && fsync(fd) == 0", "write(fd, pem.data, pem.size) > 0", { key } },
  { "src/signing/jws.c", "header.size + 1 + claims.size", "header.size", { jws } },
  { "src/crypto/schnorr.c", "memcmp(found, v, sizeof v) == 0", "true", { jws } },
}
