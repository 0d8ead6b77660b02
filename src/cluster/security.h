// The certificates by which the processes of a cluster know each other. Three files of PEM text,
// named by environment variables, which the programs' options set:
//
//   LEAT_CERTIFICATE  who this process is: its certificate, with those between it and the authority
//   LEAT_KEY          the private key of that certificate
//   LEAT_AUTHORITY    whom to believe: the certificates of the cluster's authority
//
// With them every way between processes is mutual TLS: a server serves nobody who does not show a
// certificate of the authority, and a client talks to no server without one for the name by which
// it called it. Without them calls go over plain text. A client may have the authority alone; it
// then checks the server and shows nothing, as behind a proxy that ends TLS.
#ifndef LEAT_CLUSTER_SECURITY_H_
#define LEAT_CLUSTER_SECURITY_H_

#include "cluster/rpc.h"

// The texts of the files, and what remote procedure calls want of them: all empty for plain text.
typedef struct leat_security_s {
  char* texts[3];
  leat_rpc_security_t rpc;  // its views are of |texts|
} leat_security_t;

// Reads the files that the environment names now, for a server at |address| ("host:port") or, where
// that is empty, for a client. Later changes of the environment and of the files do not count. Each
// file is looked at: INVALID_ARGUMENT, naming the variable, the file and the rule, where one is
// missing or is not what it must be, where the key is not the certificate's, where a certificate
// has ended or has not begun, where the authority has not signed it, and where a server's is not
// for its host. The environment of a program with more rights than its user does not count. To be
// deinitialized after a success. May block on the disk.
LEAT_MUST_USE leat_status_t leat_security_initialize(leat_string_view_t address,
                                                     leat_security_t* out_security);
void leat_security_deinitialize(leat_security_t* security);
// A channel to the server at |address| for a client with the certificates of the environment.
LEAT_MUST_USE leat_status_t leat_security_open_channel(leat_string_view_t address,
                                                       leat_rpc_channel_t** out_channel);

#endif  // LEAT_CLUSTER_SECURITY_H_
