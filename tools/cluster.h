// The description of a cluster, as people write it and as the library reads it (ClusterDef).
#ifndef LEAT_TOOLS_CLUSTER_H_
#define LEAT_TOOLS_CLUSTER_H_

#include <stdbool.h>
#include <stddef.h>

#include "json.h"

// Bytes of a message under construction; |failed| once memory was gone. Whoever has it frees
// |data|.
typedef struct message_s {
  unsigned char* data;
  size_t size, capacity;
  bool failed;
} message_t;

void message_append(message_t* message, const void* data, size_t size);
// Field |number| of text or of a message.
void message_append_bytes(message_t* message, int number, const void* data, size_t size);
void message_append_number(message_t* message, int number, unsigned long long value);
// Frees |inner|.
void message_append_message(message_t* message, int number, message_t* inner);

// Reads "ps=a:1;worker=b:1,c:1" into a ClusterDef. false where it is malformed.
bool cluster_read(const char* text, message_t* out_cluster);
// Reads the member "cluster" of TF_CONFIG: an object of lists of addresses, or of objects from
// numbers to addresses. |jobs| may be NULL.
bool cluster_read_jobs(const json_t* jobs, message_t* out_cluster);
// Reads TF_CONFIG. NULL where it is not set or cannot be read; the caller frees it.
json_t* cluster_read_environment(void);

// ---- Certificates -------------------------------------------------------------------------------

// Options of a command that talks to a cluster: --certificate FILE, --key FILE, --authority FILE.
#define CLUSTER_SECURITY_OPTIONS {"certificate", true}, {"key", true}, {"authority", true}
// Takes the option |name| with its value where it is one of these: sets LEAT_CERTIFICATE or the
// like, by which the library learns of it, and each program that this one starts.
void cluster_take_security(const char* name, const char* value);
// Whether this process has a certificate to show.
bool cluster_is_secure(void);
// What the help of such a command says of them.
#define CLUSTER_SECURITY_HELP \
  "  --certificate FILE   this task's certificate, PEM (LEAT_CERTIFICATE)\n" \
  "  --key FILE           its private key (LEAT_KEY)\n" \
  "  --authority FILE     the certificates of the cluster's authority (LEAT_AUTHORITY)\n"

#endif  // LEAT_TOOLS_CLUSTER_H_
