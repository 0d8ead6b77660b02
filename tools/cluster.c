// What the subcommands about clusters share: they read a cluster from the command line or from
// TF_CONFIG, and make messages of it. Messages are encoded by hand, since the tools see the public
// headers alone: a field is its number and kind, and its bytes or its number. Running out of memory
// is noted in the message and asked for once, at the end. leat server and leat doctor call these
// functions, so that both understand the same spellings of a cluster.
#include "cluster.h"

#include <stdlib.h>
#include <string.h>

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

// Adds task |index| to a JobDef: an entry of its map from numbers to addresses.
static void append_task(message_t* job, int index, const char* address, size_t size) {
  message_t entry = {0};
  message_append_number(&entry, 1, (unsigned long long)index);
  message_append_bytes(&entry, 2, address, size);
  message_append_message(job, 2, &entry);
}

bool cluster_read(const char* text, message_t* out_cluster) {
  while (*text) {
    const size_t name = strcspn(text, "=");
    message_t job = {0};
    if (text[name] != '=' || name == 0) return false;
    message_append_bytes(&job, 1, text, name);
    text += name + 1;
    for (int index = 0;; ++index) {
      const size_t address = strcspn(text, ",;");
      append_task(&job, index, text, address);
      text += address;
      if (*text != ',') break;
      ++text;
    }
    message_append_message(out_cluster, 1, &job);
    if (*text == ';') ++text;
  }
  return out_cluster->size > 0;
}

bool cluster_read_jobs(const json_t* jobs, message_t* out_cluster) {
  if (!jobs || jobs->kind != JSON_OBJECT) return false;
  for (const json_t* member = jobs->first; member; member = member->next) {
    message_t job = {0};
    int index = 0;
    message_append_bytes(&job, 1, member->name, strlen(member->name));
    if (member->kind != JSON_ARRAY && member->kind != JSON_OBJECT) return false;
    for (const json_t* task = member->first; task; task = task->next, ++index) {
      if (task->kind != JSON_STRING) return false;
      const int number = member->kind == JSON_OBJECT ? atoi(task->name) : index;
      append_task(&job, number, task->text, strlen(task->text));
    }
    message_append_message(out_cluster, 1, &job);
  }
  return out_cluster->size > 0;
}

json_t* cluster_read_environment(void) {
  const char* text = getenv("TF_CONFIG");
  return text ? json_parse(text, strlen(text)) : NULL;
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
