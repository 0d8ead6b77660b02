// Makes certificates for tests (certificates.h), by one shell script.
#include "cluster/certificates.h"

#include <stdio.h>
#include <stdlib.h>

#include "scratch.h"

static const char kMake[] =
    "(set -e\n"
    "key() { openssl ecparam -genkey -name prime256v1 -noout -out $1.ec;"
    "  openssl pkcs8 -topk8 -nocrypt -in $1.ec -out $1.key; }\n"
    "authority() { key $1; openssl req -x509 -new -key $1.key -days 2 -subj /CN=$1 -out $1.pem; }\n"
    "sign() { key $1; openssl req -new -key $1.key -subj /CN=$1 -out $1.csr;"
    "  echo subjectAltName=$4 > $1.ext;"
    "  openssl x509 -req -in $1.csr -CA $2.pem -CAkey $2.key -CAcreateserial -days $3"
    "    -extfile $1.ext -out $1.pem; }\n"
    "authority root; authority stranger\n"
    "sign task root 2 DNS:localhost,IP:127.0.0.1; sign client root 2 DNS:localhost,IP:127.0.0.1\n"
    "sign machine root 2 DNS:machine.test; sign away root 2 DNS:elsewhere.test\n"
    "sign expired root -1 DNS:localhost; sign foreign stranger 2 DNS:localhost\n"
    ") >/dev/null 2>&1";

bool certificates_make(void) {
  if (system("openssl version >/dev/null 2>&1") != 0) return false;
  assert_int_equal(system(kMake), 0);
  return true;
}

static void set_path(const char* variable, const char* name, const char* ending) {
  char path[64];
  if (!name) {
    unsetenv(variable);
    return;
  }
  snprintf(path, sizeof path, "%s.%s", name, ending);
  setenv(variable, path, 1);
}

void certificates_use(const char* name, const char* authority) {
  set_path("LEAT_CERTIFICATE", name, "pem");
  set_path("LEAT_KEY", name, "key");
  set_path("LEAT_AUTHORITY", authority, "pem");
}
