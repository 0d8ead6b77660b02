// The inspection leat inspect checkpoint --objects: prints the objects that TensorFlow 2 saves
// beside the values, as a TrackableObjectGraph message under the key _CHECKPOINTABLE_OBJECT_GRAPH.
// Objects name their children, and may refer to each other in cycles. Each object is printed once,
// under a shortest path from the root, which a breadth-first search finds. The variables that an
// optimizer keeps for other variables (slots) are nobody's children; they get the path that
// TensorFlow gives them, "<variable>/.OPTIMIZER_SLOT/<optimizer>/<slot>".
#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "json.h"
#include "leat/inspect.h"
#include "tensorflow/c/tf_tstring.h"
#include "view.h"

static const char kKey[] = "_CHECKPOINTABLE_OBJECT_GRAPH";

typedef struct objects_s {
  leat_message_view_t graph;
  size_t count;
  char** paths;   // [count]: a path to each object; NULL: it was not reached
  size_t* queue;  // [count]: objects in the order in which they were reached
} objects_t;

bool objects_are_in(const leat_checkpoint_t* checkpoint) {
  for (size_t i = 0; i < leat_checkpoint_count(checkpoint); ++i) {
    if (!strcmp(leat_checkpoint_name(checkpoint, i), kKey)) return true;
  }
  return false;
}

// Returns "<parent>/<name>", which the caller frees; NULL without memory.
static char* join(const char* parent, name_t name) {
  size_t size = strlen(parent) + name.size + 2;
  char* path = malloc(size);
  if (path) snprintf(path, size, "%s%s%.*s", parent, *parent ? "/" : "", (int)name.size, name.data);
  return path;
}

// Finds the paths breadth first. Returns false when there is no memory.
static bool reach(objects_t* o) {
  size_t reached = 0;
  if (o->count == 0) return true;
  o->paths[0] = strdup("");
  if (!o->paths[0]) return false;
  o->queue[reached++] = 0;
  for (size_t next = 0; next < reached; ++next) {
    leat_message_view_t object = leat_message_child(o->graph, "nodes", o->queue[next]);
    for (size_t i = 0; i < leat_message_count(object, "children"); ++i) {
      leat_message_view_t child = leat_message_child(object, "children", i);
      int64_t id = leat_message_integer(child, "node_id", 0);
      if (id < 0 || (size_t)id >= o->count || o->paths[id]) continue;
      o->paths[id] = join(o->paths[o->queue[next]], view_string(child, "local_name", 0));
      if (!o->paths[id]) return false;
      o->queue[reached++] = (size_t)id;
    }
  }
  return true;
}

// Gives the slot variables of optimizers that were reached a path. Returns false when there is no
// memory.
static bool reach_slots(objects_t* o) {
  for (size_t n = 0; n < o->count; ++n) {
    leat_message_view_t object = leat_message_child(o->graph, "nodes", n);
    for (size_t i = 0; o->paths[n] && i < leat_message_count(object, "slot_variables"); ++i) {
      leat_message_view_t slot = leat_message_child(object, "slot_variables", i);
      int64_t of = leat_message_integer(slot, "original_variable_node_id", 0);
      int64_t id = leat_message_integer(slot, "slot_variable_node_id", 0);
      if (of < 0 || (size_t)of >= o->count || !o->paths[of]) continue;
      if (id < 0 || (size_t)id >= o->count || o->paths[id]) continue;
      name_t name = view_string(slot, "slot_name", 0);
      size_t size = strlen(o->paths[of]) + strlen(o->paths[n]) + name.size + 20;
      o->paths[id] = malloc(size);
      if (!o->paths[id]) return false;
      snprintf(o->paths[id], size, "%s/.OPTIMIZER_SLOT/%s/%.*s", o->paths[of], o->paths[n],
               (int)name.size, name.data);
    }
  }
  return true;
}

// Prints the values of an object: their keys in the checkpoint, and the names that they had before
// TensorFlow 2.
static void print_object(const char* path, leat_message_view_t object, bool as_json) {
  size_t count = leat_message_count(object, "attributes");
  if (as_json) {
    fputs("{\"path\": ", stdout);
    json_print_string(stdout, path, strlen(path));
    fputs(", \"keys\": [", stdout);
  }
  for (size_t i = 0; i < count; ++i) {
    leat_message_view_t attribute = leat_message_child(object, "attributes", i);
    name_t key = view_string(attribute, "checkpoint_key", 0);
    name_t full = view_string(attribute, "full_name", 0);
    if (as_json) {
      if (i) fputs(", ", stdout);
      json_print_string(stdout, key.data, key.size);
    } else {
      printf("%-40s %.*s%s%.*s\n", *path ? path : ".", (int)key.size, key.data,
             full.size ? "  as " : "", (int)full.size, full.data);
    }
  }
  if (as_json) fputs("]}", stdout);
}

static void print_all(const objects_t* o, bool as_json) {
  size_t shown = 0;
  if (as_json) putchar('[');
  for (size_t i = 0; i < o->count; ++i) {
    leat_message_view_t object = leat_message_child(o->graph, "nodes", i);
    if (!o->paths[i] || !leat_message_count(object, "attributes")) continue;
    if (as_json && shown) fputs(",\n ", stdout);
    ++shown;
    print_object(o->paths[i], object, as_json);
  }
  if (as_json) {
    puts("]");
  } else {
    printf("%zu objects, %zu of them with values\n", o->count, shown);
  }
}

static int show(leat_message_view_t graph, bool as_json) {
  size_t count = leat_message_count(graph, "nodes");
  objects_t o = {graph, count, calloc(count + 1, sizeof *o.paths),
                 calloc(count + 1, sizeof *o.queue)};
  int code = EXIT_OK;
  if (o.paths && o.queue && reach(&o) && reach_slots(&o)) {
    print_all(&o, as_json);
  } else {
    code = complain("no memory for %zu objects", count);
  }
  for (size_t i = 0; o.paths && i < count; ++i) free(o.paths[i]);
  free(o.paths);
  free(o.queue);
  return code;
}

int inspect_objects(leat_checkpoint_t* checkpoint, bool as_json) {
  TF_Status* status = TF_NewStatus();
  TF_Tensor* tensor = leat_checkpoint_read(checkpoint, kKey, status);
  leat_message_t* message = NULL;
  TF_Buffer* bytes = NULL;
  if (tensor && TF_TensorType(tensor) == TF_STRING && TF_TensorElementCount(tensor) == 1) {
    const TF_TString* text = TF_TensorData(tensor);
    bytes = TF_NewBufferFromString(TF_TString_GetDataPointer(text), TF_TString_GetSize(text));
    message = leat_message_open("TrackableObjectGraph", bytes, status);
  } else if (tensor) {
    TF_SetStatus(status, TF_DATA_LOSS, "the graph of objects is no string");
  }
  int code = message ? show(leat_message_view(message), as_json)
                     : complain_status("objects", status);
  leat_message_close(message);
  TF_DeleteBuffer(bytes);
  TF_DeleteTensor(tensor);
  TF_DeleteStatus(status);
  return code;
}
