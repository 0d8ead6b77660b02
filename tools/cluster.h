// The cluster that a command talks of: its description, the messages made of it, and the
// certificates that it asks for.
#ifndef LEAT_TOOLS_CLUSTER_H_
#define LEAT_TOOLS_CLUSTER_H_

#include <stdbool.h>
#include <stddef.h>

#include "tensorflow/c/c_api.h"

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

// ---- Sources ------------------------------------------------------------------------------------

// What a source says (leat_cluster_resolve). Whoever has it frees it.
typedef struct cluster_place_s {
  TF_Buffer* cluster_def;
  char job[128];  // "": the source does not say which task this process is
  int task;
} cluster_place_t;

// Reads |source|, "" for what the environment says. Complains for |command| where it cannot be
// read, and returns the exit code.
int cluster_place_read(const char* command, const char* source, cluster_place_t* out_place);
void cluster_place_free(cluster_place_t* place);
// What the help of such a command says of sources.
#define CLUSTER_SOURCE_HELP \
  "SOURCE is the cluster itself, 'JOB=HOST:PORT,...;JOB=...', or who knows it: file:PATH (such\n" \
  "text or JSON), tf_config (the variable TF_CONFIG), slurm, mpi, or kubernetes, with options\n" \
  "as in slurm:ps=1,port=2222 (leat/cluster.h lists them). An empty one, as none, asks the\n" \
  "environment: TF_CONFIG where it is set, else what mpirun or srun says.\n"

// ---- Certificates -------------------------------------------------------------------------------

// Options of a command that talks to a cluster: --certificate FILE, --key FILE, --authority FILE.
#define CLUSTER_SECURITY_OPTIONS {"certificate", true}, {"key", true}, {"authority", true}
// Takes the option |name| with its value where it is one of these: sets LEAT_CERTIFICATE or the
// like, by which the library learns of it, and each program that this one starts.
void cluster_take_security(const char* name, const char* value);
// Whether this process has a certificate to show.
bool cluster_is_secure(void);
// Whether |address|, "host" or "host:port", leads to this machine alone.
bool cluster_is_loopback(const char* address);
// What the help of such a command says of them.
#define CLUSTER_SECURITY_HELP \
  "  --certificate FILE   this task's certificate, PEM (LEAT_CERTIFICATE)\n" \
  "  --key FILE           its private key (LEAT_KEY)\n" \
  "  --authority FILE     the certificates of the cluster's authority (LEAT_AUTHORITY)\n"

// ---- The end of a server ------------------------------------------------------------------------

// Keeps SIGINT and SIGTERM from ending the process, for cluster_wait_for_end. Before any thread is
// started, since threads take this over.
void cluster_hold_signals(void);
// Waits until one of them has come.
void cluster_wait_for_end(void);

#endif  // LEAT_TOOLS_CLUSTER_H_
