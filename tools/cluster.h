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

#endif  // LEAT_TOOLS_CLUSTER_H_
