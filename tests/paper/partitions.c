// Sessions from a ConfigProto in text form, and the graphs that the devices of a step get. The
// nodes come from leat_pass_show(), which returns the graph of a step after placement and
// partitioning as a GraphDef, and are read there by name and field, since that is all that a client
// can see too. paper_partitions_crossings() counts edges between devices; after partitioning there
// must be none, because each was replaced by a Send and a Recv. A device is given by the end of its
// name ("CPU:1").
#include "paper/partitions.h"

TF_Session* paper_session(TF_Graph* graph, const char* config) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer text = {config, strlen(config), NULL};
  TF_Buffer* bytes = leat_message_from_text("ConfigProto", &text, status);
  kit_ok(status);
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetConfig(options, bytes->data, bytes->length, status);
  kit_ok(status);
  TF_Session* session = TF_NewSession(graph, options, status);
  kit_ok(status);
  TF_DeleteSessionOptions(options);
  TF_DeleteBuffer(bytes);
  TF_DeleteStatus(status);
  return session;
}

paper_partitions_t paper_partitions_open(TF_Session* session, TF_Output fetch) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer* after = TF_NewBuffer();
  paper_partitions_t partitions = {.bytes = TF_NewBuffer()};
  leat_pass_show(session, "recv_schedule", &fetch, 1, NULL, 0, partitions.bytes, after, status);
  kit_ok(status);
  partitions.message = leat_message_open("GraphDef", partitions.bytes, status);
  kit_ok(status);
  partitions.graph = leat_message_view(partitions.message);
  TF_DeleteBuffer(after);
  TF_DeleteStatus(status);
  return partitions;
}

void paper_partitions_close(paper_partitions_t* partitions) {
  leat_message_close(partitions->message);
  TF_DeleteBuffer(partitions->bytes);
}

typedef struct text_s {
  const char* data;
  size_t size;
} text_t;

static text_t field(leat_message_view_t node, const char* name, size_t index) {
  text_t text;
  text.data = leat_message_string(node, name, index, &text.size);
  return text;
}

static bool equal(text_t a, text_t b) {
  return a.size == b.size && !memcmp(a.data, b.data, a.size);
}

static bool ends_with(text_t text, const char* end) {
  size_t size = strlen(end);
  return text.size >= size && !memcmp(text.data + text.size - size, end, size);
}

int paper_partitions_count(const paper_partitions_t* partitions, const char* device,
                           const char* op) {
  int count = 0;
  for (size_t i = 0; i < leat_message_count(partitions->graph, "node"); ++i) {
    leat_message_view_t node = leat_message_child(partitions->graph, "node", i);
    if (op && !equal(field(node, "op", 0), (text_t){op, strlen(op)})) continue;
    count += !device || ends_with(field(node, "device", 0), device);
  }
  return count;
}

// The device of the node that "name", "name:1" or "^name" means.
static text_t device_of_input(const paper_partitions_t* partitions, text_t input) {
  if (input.data[0] == '^') ++input.data, --input.size;
  const char* colon = memchr(input.data, ':', input.size);
  if (colon) input.size = (size_t)(colon - input.data);
  for (size_t i = 0; i < leat_message_count(partitions->graph, "node"); ++i) {
    leat_message_view_t node = leat_message_child(partitions->graph, "node", i);
    if (equal(field(node, "name", 0), input)) return field(node, "device", 0);
  }
  fail_msg("no node is called %.*s", (int)input.size, input.data);
  return input;
}

int paper_partitions_crossings(const paper_partitions_t* partitions) {
  int count = 0;
  for (size_t i = 0; i < leat_message_count(partitions->graph, "node"); ++i) {
    leat_message_view_t node = leat_message_child(partitions->graph, "node", i);
    for (size_t k = 0; k < leat_message_count(node, "input"); ++k) {
      count +=
          !equal(device_of_input(partitions, field(node, "input", k)), field(node, "device", 0));
    }
  }
  return count;
}
