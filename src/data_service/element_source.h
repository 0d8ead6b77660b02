// The elements of a dataset that is given as a graph: a session of its own, with an iterator.
#ifndef LEAT_DATA_SERVICE_ELEMENT_SOURCE_H_
#define LEAT_DATA_SERVICE_ELEMENT_SOURCE_H_

#include "data_service/dataset_graph.h"
#include "session/session.h"

typedef struct leat_element_source_s leat_element_source_t;

// Makes the dataset and an iterator over it. The graph is needed for the call only. |resources|,
// unless NULL, are those of the session; they are taken over, also on failure. What import and the
// kernels of the datasets say where the graph is not right.
LEAT_MUST_USE leat_status_t leat_element_source_create(const leat_runtime_t* runtime,
                                                       const leat_dataset_graph_t* graph,
                                                       struct leat_resource_manager_s* resources,
                                                       leat_element_source_t** out_source);
// Ends a step under way, and fails later ones, with CANCELLED. On any thread.
void leat_element_source_close(leat_element_source_t* source);
void leat_element_source_free(leat_element_source_t* source);  // NULL is allowed
// Appends the fields of the next element, as GetElementResponse has them; |*out_at_end|: there is
// none. Blocks. FAILED_PRECONDITION for a variant that is no compressed element. One thread at a
// time.
LEAT_MUST_USE leat_status_t leat_element_source_next(leat_element_source_t* source,
                                                     leat_string_builder_t* out, bool* out_at_end);
// Gives the components of the next element, which the source keeps until they are released;
// |*out_at_end|: there is none. Blocks. One thread at a time.
LEAT_MUST_USE leat_status_t leat_element_source_step(leat_element_source_t* source,
                                                     const leat_tensor_t** out_components,
                                                     int* out_count, bool* out_at_end);
// Releases the components that the last step gave.
void leat_element_source_release(leat_element_source_t* source);
// The number of elements: -1 where there is no end, -2 where nobody knows.
LEAT_MUST_USE leat_status_t leat_element_source_cardinality(leat_element_source_t* source,
                                                            int64_t* out_cardinality);

// Computes the tensors |names| of a graph in a session of its own: |out_values| [names->count],
// which the caller releases after a success. DEADLINE_EXCEEDED after |timeout_ms|.
LEAT_MUST_USE leat_status_t leat_dataset_graph_evaluate(const leat_runtime_t* runtime,
                                                        const leat_dataset_graph_t* graph,
                                                        const leat_pb_string_list_t* names,
                                                        int64_t timeout_ms,
                                                        leat_tensor_t* out_values);

#endif  // LEAT_DATA_SERVICE_ELEMENT_SOURCE_H_
