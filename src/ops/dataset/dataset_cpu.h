// Datasets and iterators. A dataset is an immutable value that a variant holds: its kind, the
// datasets that it reads, and the tensors and the function that it captured. It is reference
// counted, and any thread may use it. An iterator is one pass over a dataset; it belongs to whoever
// created it, and one pull at a time uses it (ops/dataset/pull_cpu.h).
//
// A kind of dataset is a vtable. Its own structs begin with leat_dataset_t and leat_iterator_t, and
// |dataset_bytes| and |iterator_bytes| say how large they are; both are zeroed when they are made.
// No function here blocks: an iterator that has to wait for a function call answers PENDING.
#ifndef LEAT_OPS_DATASET_DATASET_CPU_H_
#define LEAT_OPS_DATASET_DATASET_CPU_H_

#include "kernel/resource.h"
#include "ops/dataset/element_spec_cpu.h"
#include "ops/dataset/pull_cpu.h"

typedef struct leat_dataset_s leat_dataset_t;
typedef struct leat_iterator_s leat_iterator_t;

enum { LEAT_CARDINALITY_INFINITE = -1, LEAT_CARDINALITY_UNKNOWN = -2 };
#define LEAT_CARDINALITY_NOT_ASKED INT64_MIN
// AUTOTUNE lets the library choose a number. It takes the number of processors.
enum { LEAT_DATASET_AUTOTUNE = -1 };
// What a node, or options, say about the order of elements that are made at the same time.
typedef enum leat_dataset_order_e {
  LEAT_ORDER_DEFAULT,  // a node: as the options say; options: kept
  LEAT_ORDER_KEPT,
  LEAT_ORDER_ANY,
} leat_dataset_order_t;
// The limit of datasets that read each other in a chain, and so of nested calls of |next|.
#define LEAT_MAX_DATASET_DEPTH 1000
// Datasets that read one dataset in many ways double what they hold of it at each level. These are
// the limits of the components of an element, and of the bytes of the options.
#define LEAT_MAX_COMPONENTS (1 << 20)
#define LEAT_MAX_OPTIONS_BYTES (1 << 20)
#define LEAT_MAX_DATASET_NODES (INT64_C(1) << 40)

// A kind of dataset: how large its structs are and what its iterators do. Constant and static.
typedef struct leat_dataset_kind_s {
  const char* name;
  uint32_t dataset_bytes;
  uint32_t iterator_bytes;
  bool opens_input;  // leat_iterator_create opens |input| over inputs[0] before |start|
  // Releases what the kind added to the dataset. NULL: nothing.
  void (*destroy)(leat_dataset_t* self);
  // Initializes what the kind added to an iterator. NULL: nothing. |stop| is called even when it
  // fails.
  leat_status_t (*start)(leat_iterator_t* self);
  // Gives the next element in |out|, which has room for the spec's components and is written only
  // where |*out_poll| is ELEMENT; |*out_poll| is END before the call. It is not called again after
  // END. Call it through leat_iterator_next.
  leat_status_t (*next)(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                        leat_poll_t* out_poll);
  // releases what the kind added to an iterator; NULL: nothing
  void (*stop)(leat_iterator_t* self);
  // The number of elements, or a LEAT_CARDINALITY_ value, which is asked for once; NULL: the number
  // of inputs[0].
  int64_t (*cardinality)(const leat_dataset_t* self);
  // Moves to element |index|, which |next| gives then, and those behind it after that. Called
  // between elements, where all inputs can seek. NULL: there is no such way.
  leat_status_t (*seek)(leat_iterator_t* self, int64_t index);
} leat_dataset_kind_t;

// The node that made a dataset: what it takes to make an equal one (dataset_graph_cpu.h). A dataset
// that is part of another one has none.
typedef struct leat_dataset_node_s {
  const leat_op_t* op;      // in the registry of ops; NULL: there is no node
  leat_attr_list_t* attrs;  // retained
  leat_tensor_t* inputs;    // [input_count] shared
  int32_t input_count;
  uint64_t functions;  // the runtime that knows the functions in |attrs|, by its number; 0: none
} leat_dataset_node_t;

// The base with which a kind's dataset begins. Nothing of it changes after the kernel that makes
// the dataset has set it up.
struct leat_dataset_s {
  const leat_dataset_kind_t* kind;
  leat_dataset_node_t node;  // set by leat_dataset_set_output
  leat_reference_count_t references;
  int32_t depth;  // datasets in the longest chain from this one to a source
  // The nodes of a graph of this dataset, in which each input of an op, and of those below, is a
  // node; at most LEAT_MAX_DATASET_NODES. Set by leat_dataset_set_output.
  int64_t node_count;
  bool asserts;  // this is an AssertNextDataset, or one of those below is
  bool seeks;    // iterators over it and over all datasets below can seek
  leat_element_spec_t* spec;
  leat_tensor_t options;  // of this dataset and those below, a serialized Options; no tensor: none
  uint64_t function;  // handle of the function that it calls, for kinds that call one
  _Atomic(uint64_t) hash;  // what leat_dataset_hash has found; 0: not asked yet
  // What leat_dataset_cardinality has found; LEAT_CARDINALITY_NOT_ASKED before.
  _Atomic(int64_t) cardinality;
  int32_t input_count;
  int32_t tensor_count;
  leat_dataset_t** inputs;
  leat_tensor_t* tensors;
  int32_t* tensor_inputs;  // [tensor_count] which input of the kernel each tensor is, + 1; or 0
};

// The base with which a kind's iterator begins.
struct leat_iterator_s {
  leat_dataset_t* dataset;
  leat_iterator_t* input;  // freed with this iterator; NULL: none
  int32_t depth;  // iterators from the outermost one down to this one
  bool at_end;  // |next| has given END
  leat_dataset_order_t order;  // what the options around the dataset say about the order
  leat_draw_counts_t* draw_counts;  // shared by all iterators of a pass; for calls of functions
  struct leat_stats_s* stats;       // where it tells its statistics (stats_cpu.h); NULL: nowhere
  // Under which name (told_dataset_cpu.c): the dataset that a node made, and in its graph, from the
  // outermost dataset on, the number of its first node; -1: a function has made the dataset.
  const leat_dataset_t* named;
  int64_t first_node;
  int64_t given;  // elements, without those that failed
};

// ---- Datasets -----------------------------------------------------------------------------------

// Makes a dataset with room for |input_count| inputs, which are set with leat_dataset_set_input,
// and |tensor_count| tensors, which are empty. |spec| is moved in, also on failure.
LEAT_MUST_USE leat_status_t leat_dataset_create(const leat_dataset_kind_t* kind,
                                                leat_element_spec_t* spec, int input_count,
                                                int tensor_count, leat_dataset_t** out_dataset);
// Takes and gives up a reference, on any thread. The last one releases inputs, tensors and the
// spec.
void leat_dataset_retain(leat_dataset_t* dataset);
void leat_dataset_release(leat_dataset_t* dataset);  // NULL is allowed
// The number of elements, or a LEAT_CARDINALITY_ value, without taking any.
int64_t leat_dataset_cardinality(leat_dataset_t* dataset);
// The |cardinality| of kinds that cannot tell the number of their elements.
int64_t leat_dataset_unknown_cardinality(const leat_dataset_t* dataset);

// A number that tells apart what datasets are made of: ops, attributes, values of inputs, and all
// of that of the datasets below. Functions count by their names, and resources not at all. It is
// the same in each process.
uint64_t leat_dataset_hash(leat_dataset_t* dataset);

// Notes in |dataset| which node makes it, the one whose kernel runs; for leat_dataset_set_output.
LEAT_MUST_USE leat_status_t leat_dataset_set_node(leat_kernel_context_t* c,
                                                  leat_dataset_t* dataset);
void leat_dataset_node_release(leat_dataset_node_t* node);
// The number of nodes of a graph of a dataset that |node| makes.
int64_t leat_dataset_count_nodes(const leat_dataset_node_t* node);

// Finds the dataset that a scalar variant holds; it is borrowed. INVALID_ARGUMENT for anything
// else.
LEAT_MUST_USE leat_status_t leat_dataset_of(const leat_tensor_t* tensor,
                                            leat_dataset_t** out_dataset);
// Whether |tensor| is a scalar variant that holds a dataset.
bool leat_dataset_find(const leat_tensor_t* tensor, leat_dataset_t** out_dataset);
// Makes a scalar variant that holds |dataset|, which is moved in, also on failure.
LEAT_MUST_USE leat_status_t leat_dataset_to_tensor(leat_dataset_t* dataset,
                                                   leat_tensor_t* out_tensor);
// The same of the variants of WrapDatasetVariant, which are no datasets to any other op.
LEAT_MUST_USE leat_status_t leat_dataset_of_wrapped(const leat_tensor_t* tensor,
                                                    leat_dataset_t** out_dataset);
LEAT_MUST_USE leat_status_t leat_dataset_to_wrapped(leat_dataset_t* dataset,
                                                    leat_tensor_t* out_tensor);
// Makes |input| the input |index| of |dataset|, which takes on its options, and retains it.
// RESOURCE_EXHAUSTED when the chain would become longer than LEAT_MAX_DATASET_DEPTH.
LEAT_MUST_USE leat_status_t leat_dataset_set_input(leat_dataset_t* dataset, int index,
                                                   leat_dataset_t* input);
// Sets output 0 to |dataset|, which is moved in, also on failure.
LEAT_MUST_USE leat_status_t leat_dataset_set_output(leat_kernel_context_t* c,
                                                    leat_dataset_t* dataset);
// Makes a dataset with the one input |input|, which is retained. |spec| is moved in, also on
// failure.
LEAT_MUST_USE leat_status_t leat_dataset_create_over(const leat_dataset_kind_t* kind,
                                                     leat_element_spec_t* spec,
                                                     leat_dataset_t* input, int tensor_count,
                                                     leat_dataset_t** out_dataset);
// Makes a dataset that reads the dataset at input 0 of the kernel and has the same spec.
LEAT_MUST_USE leat_status_t leat_dataset_create_over_input(leat_kernel_context_t* c,
                                                           const leat_dataset_kind_t* kind,
                                                           leat_dataset_t** out_dataset);
// Makes a dataset that reads the datasets at all inputs of the kernel. |spec| is moved in, also on
// failure.
LEAT_MUST_USE leat_status_t leat_dataset_create_over_all(leat_kernel_context_t* c,
                                                         const leat_dataset_kind_t* kind,
                                                         leat_element_spec_t* spec,
                                                         leat_dataset_t** out_dataset);
// The row of a kernel whose node has no other attributes to read than "metadata".
#define LEAT_DATASET_KERNEL(name, function) \
  {.op = name, .device_type = "CPU", .create = leat_element_metadata_create, .compute = function}
// Keeps |count| inputs of the kernel, from |first_input| on, as the dataset's tensors from |first|
// on.
LEAT_MUST_USE leat_status_t leat_dataset_keep_inputs(leat_kernel_context_t* c, int first_input,
                                                     int first, int count, leat_dataset_t* dataset);

// Sets output |index| to what TensorFlow calls a deleter. Here it is an empty variant: the resource
// of an anonymous handle ends with the last copy of the handle.
LEAT_MUST_USE leat_status_t leat_dataset_set_deleter(leat_kernel_context_t* c, int index);

// Finds the resource of the handle at input |index|, for a dataset that makes one of its own where
// there is none: NULL for a handle that a Dummy op gives, and for one that names nothing here,
// since another process wrote the graph. |foreign_type| is the type of such handles in TensorFlow.
LEAT_MUST_USE leat_status_t leat_dataset_find_shared(const leat_kernel_context_t* c, int index,
                                                     const leat_resource_kind_t* kind,
                                                     const char* foreign_type,
                                                     leat_resource_t** out_resource);

// The state of kernels whose datasets call a function. |spec| comes first:
// leat_element_spec_state_t and leat_dataset_fold_t have it at the same place.
typedef struct leat_dataset_function_s {
  leat_element_spec_t* spec;
  leat_callee_t callee;
  bool preserves_cardinality;
  leat_dataset_order_t order;  // of the parallel forms
} leat_dataset_function_t;
// Fills the state from the function's attribute |attr| and from output_types and output_shapes.
LEAT_MUST_USE leat_status_t leat_dataset_function_create(leat_kernel_creation_t* c,
                                                         const char* attr, void* state);
void leat_dataset_function_destroy(void* state);
// Reads what the node says about the order: its attribute "deterministic" or "sloppy", whichever it
// has.
LEAT_MUST_USE leat_status_t leat_dataset_order_create(leat_kernel_creation_t* c,
                                                      leat_dataset_order_t* out_order);
// Whether |iterator|, whose dataset's node says |order|, may give its elements in any order.
bool leat_dataset_order_is_any(leat_dataset_order_t order, const leat_iterator_t* iterator);

// The state where the function "f" takes a state before the element and returns the next state
// first.
typedef struct leat_dataset_fold_s {
  leat_dataset_function_t function;
  int state_count;
} leat_dataset_fold_t;
LEAT_MUST_USE leat_status_t leat_dataset_fold_create(leat_kernel_creation_t* c, void* state);

// Makes a dataset over |input|; NULL: the dataset at input 0 of the kernel. It calls the kernel
// state's function. The node's other_arguments (inputs 1 to |captured_count|) become its tensors.
// |spec| is retained; NULL: the input's spec.
LEAT_MUST_USE leat_status_t leat_dataset_create_calling_over(leat_kernel_context_t* c,
                                                             const leat_dataset_kind_t* kind,
                                                             leat_dataset_t* input,
                                                             leat_element_spec_t* spec,
                                                             int captured_count,
                                                             leat_dataset_t** out_dataset);
// The same over the dataset at input 0.
LEAT_MUST_USE leat_status_t leat_dataset_create_calling(leat_kernel_context_t* c,
                                                        const leat_dataset_kind_t* kind,
                                                        leat_element_spec_t* spec,
                                                        int captured_count,
                                                        leat_dataset_t** out_dataset);

// Read scalar inputs of a kernel; |name| is the argument's name in errors. INVALID_ARGUMENT when
// the input is not a scalar.
LEAT_MUST_USE leat_status_t leat_dataset_int_input(const leat_kernel_context_t* c, int index,
                                                   const char* name, int64_t* out_value);
LEAT_MUST_USE leat_status_t leat_dataset_bool_input(const leat_kernel_context_t* c, int index,
                                                    const char* name, bool* out_value);
LEAT_MUST_USE leat_status_t leat_dataset_string_input(const leat_kernel_context_t* c, int index,
                                                      const char* name,
                                                      leat_string_view_t* out_value);

// ---- Iterators ----------------------------------------------------------------------------------

// Makes an iterator, which retains |dataset|. |owner| is the iterator that will own it; NULL: none.
LEAT_MUST_USE leat_status_t leat_iterator_create(leat_dataset_t* dataset,
                                                 const leat_iterator_t* owner,
                                                 leat_iterator_t** out_iterator);
void leat_iterator_free(leat_iterator_t* iterator);  // NULL is allowed
// Gives the next element, whose types are those of the spec. After a failure the reader may ask for
// the element behind it; after END it gets END for ever.
LEAT_MUST_USE leat_status_t leat_iterator_next(leat_iterator_t* iterator, leat_pull_t* pull,
                                               leat_tensor_t* out, leat_poll_t* out_poll);
// Tells a statistic |what| of |iterator|, as a number of which the last one counts, or as one more
// of a histogram. |what| is a literal.
LEAT_MUST_USE leat_status_t leat_iterator_tell_last(leat_iterator_t* iterator, const char* what,
                                                    double value);
LEAT_MUST_USE leat_status_t leat_iterator_tell_each(leat_iterator_t* iterator, const char* what,
                                                    double value);
// Finds what the names of the statistics of a new |iterator|, which |owner| will own, are made of.
void leat_iterator_find_name(leat_iterator_t* iterator, const leat_iterator_t* owner);
// Moves an iterator whose dataset |seeks| to element |index|, which must be one that there is. To
// be called between elements: not while it is PENDING.
LEAT_MUST_USE leat_status_t leat_iterator_seek(leat_iterator_t* iterator, int64_t index);
// Lets |iterator| read |dataset| from its start; the input that it had is freed.
LEAT_MUST_USE leat_status_t leat_iterator_open_input(leat_iterator_t* iterator,
                                                     leat_dataset_t* dataset);
// Makes an iterator over each input of the iterator's dataset. After a failure
// leat_iterator_free_all frees those that were made.
LEAT_MUST_USE leat_status_t leat_iterator_create_all(leat_iterator_t* iterator,
                                                     leat_iterator_t*** out_inputs);
void leat_iterator_free_all(leat_iterator_t* iterator, leat_iterator_t** inputs);
// Prepares calls of a function with an element of |element_count| components, followed by
// |captured| of the dataset's tensors, from |first| on.
LEAT_MUST_USE leat_status_t leat_iterator_prepare_calls_with(leat_iterator_t* iterator,
                                                             int element_count, int return_count,
                                                             int first, int captured,
                                                             leat_application_t* out_application);
// The same of the dataset's function, which gets all of the dataset's tensors.
LEAT_MUST_USE leat_status_t leat_iterator_prepare_calls(leat_iterator_t* iterator,
                                                        int element_count, int return_count,
                                                        leat_application_t* out_application);

// Takes the result of a call of the dataset's function, which must be a dataset with the elements
// of |owner|, and makes an iterator over it, which |owner| will own.
LEAT_MUST_USE leat_status_t leat_iterator_open_returned(leat_iterator_t* owner,
                                                        leat_application_t* application,
                                                        leat_pull_t* pull,
                                                        leat_iterator_t** out_iterator);

// Translates the failure of a dataset's function; |status| is consumed. OUT_OF_RANGE ends the
// elements, as in TensorFlow; where the dataset must have as many elements as its input, it is an
// INVALID_ARGUMENT. Other failures are returned as they are.
LEAT_MUST_USE leat_status_t leat_function_failure(leat_status_t status, bool preserves_cardinality,
                                                  leat_poll_t* out_poll);

// Releases |count| tensors, and leaves them empty.
void leat_element_release(leat_tensor_t* components, int count);
// |to| shares the buffers of |from|; both are released later.
void leat_element_share(const leat_tensor_t* from, leat_tensor_t* to, int count);
// Moves |count| tensors to |to|, whose former content is not released.
void leat_element_move(leat_tensor_t* from, leat_tensor_t* to, int count);
// Gives row |index| of a tensor of rank 1 or more, at an address that is aligned for kernels.
LEAT_MUST_USE leat_status_t leat_element_row(const leat_tensor_t* tensor, int64_t index,
                                             leat_tensor_t* out_row);
// Gives row |index| of each of |count| tensors.
LEAT_MUST_USE leat_status_t leat_element_rows(const leat_tensor_t* tensors, int64_t index,
                                              leat_tensor_t* out, int count);
// Gives rows [begin, end) of each of |count| tensors, likewise.
LEAT_MUST_USE leat_status_t leat_element_slice(const leat_tensor_t* tensors, int64_t begin,
                                               int64_t end, leat_tensor_t* out, int count);

// ---- Datasets that several kernels make ---------------------------------------------------------

// map_dataset_cpu.c. The |create| of kernels with a function "f"; the kernel's state is a
// leat_dataset_function_t.
LEAT_MUST_USE leat_status_t leat_map_dataset_kernel_create(leat_kernel_creation_t* c, void* state);
// Reads what a predicate returned, which must be one bool.
LEAT_MUST_USE leat_status_t leat_filter_read_answer(const leat_tensor_t* answer, bool* out_matches);

// assert_dataset_cpu.c. INVALID_ARGUMENT where an AssertNextDataset below |dataset|, which nobody
// reads but its user, states something else of the datasets above it than what is there.
LEAT_MUST_USE leat_status_t leat_dataset_check_assertions(leat_dataset_t* dataset);

// batch_dataset_cpu.c. The size of the batches that |dataset| gives; -1 where it makes none.
int64_t leat_batch_dataset_size(const leat_dataset_t* dataset);

// options_dataset_cpu.c. Merges |options|, a serialized Options, into those of |dataset|; what
// |options| sets wins. INVALID_ARGUMENT where it is no such message.
LEAT_MUST_USE leat_status_t leat_dataset_add_options(leat_dataset_t* dataset,
                                                     leat_string_view_t options);

// parallel_map_dataset_cpu.c. Makes the dataset of what the kernel's function returns for each
// element of |input|, with up to |calls| calls at once; LEAT_DATASET_AUTOTUNE is allowed.
// INVALID_ARGUMENT for other numbers below 1. |input| and |spec| are as those of
// leat_dataset_create_calling_over.
LEAT_MUST_USE leat_status_t leat_parallel_map_create(leat_kernel_context_t* c,
                                                     leat_dataset_t* input,
                                                     leat_element_spec_t* spec, int captured_count,
                                                     int64_t calls, leat_dataset_t** out_dataset);

// prefetch_dataset_cpu.c. Makes the dataset of the elements of |input|, of which up to |capacity|
// are made ahead, at least one; LEAT_DATASET_AUTOTUNE is allowed.
LEAT_MUST_USE leat_status_t leat_prefetch_create(leat_dataset_t* input, int64_t capacity,
                                                 leat_dataset_t** out_dataset);

// tensor_dataset_cpu.c. Makes the scalar of type |dtype| that a range gives for |value|.
// INVALID_ARGUMENT for a type of which there are no ranges.
LEAT_MUST_USE leat_status_t leat_range_make_number(int dtype, int64_t value,
                                                   leat_tensor_t* out_tensor);

// window_dataset_cpu.c. Makes a dataset of |count| elements, which lie in memory. The caller sets
// its |tensors|: the components of one element after those of the other, as |spec| says. |spec| is
// moved in, also on failure. RESOURCE_EXHAUSTED when there are more tensors than an int can count.
LEAT_MUST_USE leat_status_t leat_window_create(leat_element_spec_t* spec, int64_t count,
                                               leat_dataset_t** out_dataset);

// window_dataset_cpu.c. Makes the dataset of the rows of the elements of |input|.
LEAT_MUST_USE leat_status_t leat_unbatch_create(leat_dataset_t* input,
                                                leat_dataset_t** out_dataset);

// file_dataset_cpu.c. INVALID_ARGUMENT unless |compression| is "", "ZLIB" or "GZIP".
LEAT_MUST_USE leat_status_t leat_dataset_check_compression(leat_kernel_context_t* c,
                                                           leat_string_view_t compression);
// Opens the file |name|, as leat_file_stream_open does.
struct leat_file_stream_s;
LEAT_MUST_USE leat_status_t leat_dataset_open_stream(leat_string_view_t name,
                                                     leat_string_view_t compression,
                                                     struct leat_file_stream_s** out_stream);

// fastest_dataset_cpu.c. The index of the fastest of |count| > 0 ways of making elements: that
// whose times have the smallest 90th percentile; of several the last one.
struct leat_histogram_s;
int leat_fastest_choose(const struct leat_histogram_s* times, int count);

// file_cache_dataset_cpu.c. Makes the dataset of the elements at input 0 of the kernel, which are
// kept in files whose names begin with |filename|.
LEAT_MUST_USE leat_status_t leat_file_cache_create(leat_kernel_context_t* c,
                                                   leat_string_view_t filename,
                                                   leat_dataset_t** out_dataset);

#endif  // LEAT_OPS_DATASET_DATASET_CPU_H_
