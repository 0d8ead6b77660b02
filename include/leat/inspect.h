/* leat/inspect.h: looking at what this library has and does, and into TensorFlow's messages.
 *
 * Programs that show things to people are made of these functions: the tool `leat`, the board, the
 * Python package's reprs. Answers about the library are JSON, so that any language can read them
 * and fields can be added later; readers skip the fields that they do not know. Answers about a
 * message are its parts, read by the library's own reader of the wire format, so that no program
 * needs generated code for TensorFlow's protos. All functions may be called from any thread; what
 * one gives in a TF_Buffer is the caller's. */
#ifndef LEAT_INSPECT_H_
#define LEAT_INSPECT_H_

#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0", and the TensorFlow version whose API and semantics it follows is TF_Version(). */
TF_CAPI_EXPORT extern const char* leat_version(void);

/* Every op registered, by name: JSON, an array of {"name", "doc", "inputs", "outputs",
 * "attributes", "stateful", "gradient", "kernels": [{"device", "types"}], "fused": [{"by",
 * "doc"}]}, with "family" for ops of the library's own, and "shapes" where the op has a text that
 * says which shapes it takes and gives (docs/adding-an-op.md). Arguments are {"name", "type"}, an
 * attribute has a "default" where it need not be given; "gradient" says whether TF_AddGradients
 * goes through; "by" names a pass or rewrite rule of the optimizer that can make one node of the op
 * and its neighbours. The caller deletes the buffer; NULL on error. */
TF_CAPI_EXPORT extern TF_Buffer* leat_ops_json(TF_Status* status);

/* The same with the ops that are only declared: graphs may hold them, but they have no kernel.
 * Their declarations lie in leat_module_declared.so; without the module they are missing here. */
TF_CAPI_EXPORT extern TF_Buffer* leat_all_ops_json(TF_Status* status);

/* What the machine is and what it reaches, as JSON: cpu, isa, cores, modules; with |measure| != 0
 * also flops, bandwidth, wake-up times (takes about two seconds and 256 MB). The caller deletes the
 * buffer; NULL on error. */
TF_CAPI_EXPORT extern TF_Buffer* leat_doctor_json(int measure, TF_Status* status);

/* What |operations| need of the graph, as a GraphDef, with each call of a function replaced by the
 * nodes of its body ("call/x") and by one named "call" that has its results: tensors keep their
 * names. Calls that stay (recursion, branches that do not ask to be lowered) find their functions
 * in it as before. The caller deletes the buffer; NULL on error. */
TF_CAPI_EXPORT extern TF_Buffer* leat_graph_inline(TF_Graph* graph,
                                                   const TF_Operation* const* operations,
                                                   int count, TF_Status* status);

/* - Passes --------------------------------------------------------------------------------------
 * What the optimizer does with a graph before its first step. A session runs the passes that its
 * ConfigProto asks for (graph_options: rewrite_options, optimizer_options, enable_recv_scheduling,
 * enable_bfloat16_sendrecv), in this order. JSON: an array of {"name", "doc", "stage", "after",
 * "default"}: the stage is "whole" (before nodes have devices), "placed" or "partitions" (of each
 * device), and "after" names passes that come before it. The caller deletes the buffer; NULL on
 * error.
 *
 * Where feeds leave sizes open, a step is optimized for the shapes that are fed: the first four
 * sets of shapes get a plan each, all others share one. rewrite_options.shape_optimization = OFF
 * turns that off, and so do determinism and build_cost_model. */
TF_CAPI_EXPORT extern TF_Buffer* leat_passes_json(TF_Status* status);

/* What pass |pass| by itself makes of the session's graph for a step that fetches |fetches| and
 * runs |targets|: that step's GraphDef before and after it, into two empty buffers. A pass that
 * works on what each device gets shows the graphs of all devices as one; their nodes tell by their
 * device whose they are. "all" stands for the passes that run by default. Nothing runs but what
 * folding computes. NOT_FOUND for a pass that there is not. */
TF_CAPI_EXPORT extern void leat_pass_show(TF_Session* session, const char* pass,
                                          const TF_Output* fetches, int fetch_count,
                                          const TF_Operation* const* targets, int target_count,
                                          TF_Buffer* before, TF_Buffer* after, TF_Status* status);

/* What the passes that run by default do to such a step, one after the other, each to what the one
 * before it has left. JSON: an array of {"pass", "removed", "added", "rules"}, the numbers of nodes
 * that the pass took away and added; "rules" lists the rewrite rules that it used, {"rule",
 * "times", "doc"}. A pass that had nothing to look at is left out. A step whose feeds leave sizes
 * open is optimized for the shapes that are fed; this shows it with those that the graph knows. The
 * caller deletes the buffer; NULL on error. */
TF_CAPI_EXPORT extern TF_Buffer* leat_passes_explain(TF_Session* session,
                                                     const TF_Output* fetches, int fetch_count,
                                                     const TF_Operation* const* targets,
                                                     int target_count, TF_Status* status);

/* - Placement -------------------------------------------------------------------------------------
 * Which device runs each node of a step (sections 3.2.1 and 4.3 of the white paper). Sessions place
 * by TensorFlow's rules ("simple"); "greedy" simulates the step over a cost model and gives each
 * node to the device where it would end first, then moves groups of them as long as that helps: up
 * to about half a second for each signature. LEAT_PLACER=greedy in the environment is the same.
 *
 *   leat_set_devices(options, "CPU:1,SIM:2", status);
 *   leat_set_placer(options, "greedy", status);
 *   TF_Buffer* json = leat_explain_placement(graph, options, &loss, 1, NULL, 0, status);        */
/* INVALID_ARGUMENT for another name; the options are then unchanged. */
TF_CAPI_EXPORT extern void leat_set_placer(TF_SessionOptions* options, const char* placer,
                                           TF_Status* status);
/* How many devices of each type, as ConfigProto's device_count (which TF_SetConfig replaces): "SIM"
 * is a simulated accelerator. A type that this library does not have is passed over. */
TF_CAPI_EXPORT extern void leat_set_devices(TF_SessionOptions* options, const char* devices,
                                            TF_Status* status);
/* What the greedy placer goes by instead of estimates: the times and sizes of a step that ran, a
 * serialised RunMetadata (TF_SessionRun with RunOptions.trace_level). Replaces former ones. With
 * ConfigProto's graph_options.build_cost_model = N a session measures by itself, every N-th step of
 * a signature after build_cost_model_after steps, and places later signatures by that; RunMetadata
 * of such a step has the cost_graph. State stays where the session's first signature put it. */
TF_CAPI_EXPORT extern void leat_set_costs(TF_SessionOptions* options,
                                          const TF_Buffer* run_metadata, TF_Status* status);
/* How a session with |options| would place what |fetches| and |targets| need (all of the graph when
 * there are none), before optimisation, and the step that the cost model predicts. JSON: {"placer",
 * "step_us", "devices": [{"name", "type", "nodes", "busy_us", "peak_bytes", "limit_bytes"}],
 * "nodes": [{"name", "op", "device", "reason", "beside", "cost_us", "end_us"}]}; a device is the
 * index in "devices", "reason" one of only device, asked for, only kernel, with its group, with its
 * input, with its reader, preferred, earliest end; "beside" a node's name or "". The caller deletes
 * the buffer; NULL on error. */
TF_CAPI_EXPORT extern TF_Buffer* leat_explain_placement(TF_Graph* graph,
                                                        const TF_SessionOptions* options,
                                                        const TF_Output* fetches, int fetch_count,
                                                        const TF_Operation* const* targets,
                                                        int target_count, TF_Status* status);

/* - Messages ------------------------------------------------------------------------------------
 * Serialised protocol messages of TensorFlow's. |type| is the name without its package: "GraphDef",
 * "Event", "RunMetadata", "MetaGraphDef", "SavedModel", "OpDef", ...; NOT_FOUND for one that this
 * library does not know, INVALID_ARGUMENT for bytes that are no such message (the message says
 * where). They need no op and no kernel to be registered.
 *
 *   TF_Buffer* text = leat_message_to_text("GraphDef", graph_def, status);
 *   fwrite(text->data, 1, text->length, stdout);   // node { name: "x" op: "Placeholder" ... }
 *   TF_DeleteBuffer(text);
 *
 * The caller deletes the buffers; NULL on error. */
TF_CAPI_EXPORT extern TF_Buffer* leat_message_to_text(const char* type, const TF_Buffer* message,
                                                      TF_Status* status);
TF_CAPI_EXPORT extern TF_Buffer* leat_message_from_text(const char* type, const TF_Buffer* text,
                                                        TF_Status* status);

/* What the messages consist of, for front ends that make classes of them. JSON: {"messages":
 * {name: [[field, number, kind, label, type, oneof], ...]}, "enums": {name: {value: number}}}.
 * Names are in full ("tensorflow.NodeDef"). The kind is that of the .proto file ("int32", "string",
 * "message", "enum", ...), the label "singular", "repeated", "packed" or "map", type the name of
 * the message or enum or null. Fields of one oneof have the same number as it, other fields
 * -1. An entry of a map is a message with the fields key and value. The caller deletes the buffer;
 * NULL on error. */
TF_CAPI_EXPORT extern TF_Buffer* leat_messages_json(TF_Status* status);

/* The same, field by field, by the names that TensorFlow's .proto files give. Several threads may
 * look into one message.
 *
 *   leat_message_t* message = leat_message_open("GraphDef", graph_def, status);
 *   leat_message_view_t graph = leat_message_view(message);
 *   for (size_t i = 0; i < leat_message_count(graph, "node"); ++i) {
 *     size_t size;
 *     leat_message_view_t node = leat_message_child(graph, "node", i);
 *     const char* name = leat_message_string(node, "name", 0, &size);
 *     printf("%.*s\n", (int)size, name);
 *   }
 *   leat_message_close(message);                                                                */
typedef struct leat_message_t leat_message_t;
/* |bytes| must outlive the message, which points into them. NULL on error. */
TF_CAPI_EXPORT extern leat_message_t* leat_message_open(const char* type, const TF_Buffer* bytes,
                                                        TF_Status* status);
TF_CAPI_EXPORT extern void leat_message_close(leat_message_t* message);
/* A message, or one inside it; valid until the message is closed. One that is absent has |data|
 * NULL, and all of its fields are empty. */
typedef struct leat_message_view_t {
  const void* type;
  const void* data;
} leat_message_view_t;
TF_CAPI_EXPORT extern leat_message_view_t leat_message_view(const leat_message_t* message);
/* How many values a field has: the length of a list or map, whether a message or the member of a
 * oneof is there, 1 for other fields; 0 for a field that the message does not have. */
TF_CAPI_EXPORT extern size_t leat_message_count(leat_message_view_t view, const char* field);
/* Value |index| (0 where there is one only). A map's entries are messages of "key" and "value". */
TF_CAPI_EXPORT extern leat_message_view_t leat_message_child(leat_message_view_t view,
                                                             const char* field, size_t index);
/* Integers, bools and enums; 0 when absent. Unsigned 64-bit values keep their bits. */
TF_CAPI_EXPORT extern int64_t leat_message_integer(leat_message_view_t view, const char* field,
                                                   size_t index);
/* Any number; 0 when absent. */
TF_CAPI_EXPORT extern double leat_message_real(leat_message_view_t view, const char* field,
                                               size_t index);
/* As leat_message_to_text; a message that is absent is "". */
TF_CAPI_EXPORT extern TF_Buffer* leat_message_view_to_text(leat_message_view_t view,
                                                           TF_Status* status);
/* Bytes of a string (not NUL-terminated) or the name of an enum's value; "" when absent. */
TF_CAPI_EXPORT extern const char* leat_message_string(leat_message_view_t view, const char* field,
                                                      size_t index, size_t* out_size);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_INSPECT_H_ */
