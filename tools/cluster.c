// What the subcommands about clusters share: they ask the library for the cluster, so that all
// understand the same spellings of one, and make messages. Messages are encoded by hand, since the
// tools see the public headers alone: a field is its number and kind, and its bytes or its number.
// Running out of memory is noted in the message and asked for once, at the end.
#include "cluster.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "leat/cluster.h"

void message_append(message_t* bytes, const void* data, size_t size) {
  if (bytes->failed) return;
  if (bytes->size + size > bytes->capacity) {
    const size_t capacity = 2 * (bytes->size + size) + 64;
    unsigned char* grown = realloc(bytes->data, capacity);
    bytes->failed = !grown;
    if (!grown) return;
    bytes->data = grown;
    bytes->capacity = capacity;
  }
  memcpy(bytes->data + bytes->size, data, size);
  bytes->size += size;
}

static void append_varint(message_t* bytes, unsigned long long value) {
  do {
    const unsigned char byte = (unsigned char)(value & 0x7f) | (value >= 0x80 ? 0x80 : 0);
    message_append(bytes, &byte, 1);
    value >>= 7;
  } while (value);
}

void message_append_bytes(message_t* bytes, int number, const void* data, size_t size) {
  append_varint(bytes, (unsigned long long)number << 3 | 2);
  append_varint(bytes, size);
  message_append(bytes, data, size);
}

void message_append_number(message_t* bytes, int number, unsigned long long value) {
  append_varint(bytes, (unsigned long long)number << 3);
  append_varint(bytes, value);
}

void message_append_message(message_t* bytes, int number, message_t* message) {
  message_append_bytes(bytes, number, message->data, message->size);
  bytes->failed |= message->failed;
  free(message->data);
  *message = (message_t){0};
}

// ---- Sources ------------------------------------------------------------------------------------

int cluster_place_read(const char* command, const char* source, cluster_place_t* out_place) {
  TF_Status* status = TF_NewStatus();
  *out_place = (cluster_place_t){.task = 0};
  out_place->cluster_def = leat_cluster_resolve(source, out_place->job, sizeof out_place->job,
                                                &out_place->task, status);
  int code = EXIT_OK;
  if (!out_place->cluster_def && TF_GetCode(status) == TF_INVALID_ARGUMENT) {
    code = complain_usage(command, "--cluster is '%s': %s", source, TF_Message(status));
  } else if (!out_place->cluster_def && !*source) {
    code = complain_usage(command, "--cluster is missing: %s", TF_Message(status));
  } else if (!out_place->cluster_def) {
    code = complain_status(command, status);
  }
  TF_DeleteStatus(status);
  return code;
}

void cluster_place_free(cluster_place_t* place) {
  TF_DeleteBuffer(place->cluster_def);
  place->cluster_def = NULL;
}

// ---- Certificates -------------------------------------------------------------------------------

void cluster_take_security(const char* name, const char* value) {
  static const struct {
    const char *option, *variable;
  } kVariables[] = {{"certificate", "LEAT_CERTIFICATE"},
                    {"key", "LEAT_KEY"},
                    {"authority", "LEAT_AUTHORITY"}};
  for (size_t i = 0; i < sizeof kVariables / sizeof *kVariables; ++i) {
    if (!strcmp(name, kVariables[i].option)) setenv(kVariables[i].variable, value, 1);
  }
}

bool cluster_is_secure(void) {
  const char* path = getenv("LEAT_CERTIFICATE");
  return path && *path;
}

bool cluster_is_loopback(const char* address) {
  static const char* const kHosts[] = {"localhost", "[::1]"};
  for (size_t i = 0; i < sizeof kHosts / sizeof *kHosts; ++i) {
    const size_t size = strlen(kHosts[i]);
    if (!strncmp(address, kHosts[i], size) && (!address[size] || address[size] == ':')) return true;
  }
  return !strncmp(address, "127.", 4);
}

// ---- The end of a server ------------------------------------------------------------------------

static void fill_signals(sigset_t* out_signals) {
  sigemptyset(out_signals);
  sigaddset(out_signals, SIGINT);
  sigaddset(out_signals, SIGTERM);
}

void cluster_hold_signals(void) {
  sigset_t signals;
  fill_signals(&signals);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

void cluster_wait_for_end(void) {
  sigset_t signals;
  int number;
  fill_signals(&signals);
  while (sigwait(&signals, &number) != 0) {
  }
}
