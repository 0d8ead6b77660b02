// Certificates for the tests of TLS. They are made by the program openssl when a test starts, each
// time anew: keys in the repository would be found by whoever looks for leaked ones, and
// certificates end. Where the program is absent, the cases are skipped, which dev/list-skips
// reports; dev/packages names it. For each NAME there is NAME.pem and NAME.key:
//
//   root ─ signs ─▶ task (localhost, 127.0.0.1), client (the same), machine (machine.test),
//        │          away (elsewhere.test), expired (localhost; ended yesterday)
//   stranger ────▶ foreign (localhost)
#ifndef LEAT_TESTS_CLUSTER_CERTIFICATES_H_
#define LEAT_TESTS_CLUSTER_CERTIFICATES_H_

#include <stdbool.h>

// Makes them in the folder that the test works in. false where the program openssl is absent; where
// it is there, it must work.
bool certificates_make(void);
// Has this process, and those that it starts, use NAME.pem and NAME.key, and |authority|.pem; NULL:
// none.
void certificates_use(const char* name, const char* authority);

#endif  // LEAT_TESTS_CLUSTER_CERTIFICATES_H_
