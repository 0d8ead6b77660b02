// The families of ops: which sources of src/ops/<family>/ hold rows of ops and rows of kernels.
// src/init.c registers the rows of every source that is named here, so that a new source is one
// word in this list, and an op that is missing is looked for here. A definition <noun>.c exports
// the table leat_<noun>_ops, the CPU's kernels <noun>_cpu.c export leat_<noun>_kernels_cpu, and a
// source with rewrite rules exports leat_<noun>_rules. A family whose lists of definitions and
// kernels hold the same nouns has one list for both. The lists differ where one definition states
// the ops of several sources of kernels: definitions are short and are read together, kernels are
// not. The order of rows has no meaning, because the registries find a row by its name.
#include "graph/rewrite_rule.h"
#include "ops/family.h"

#define FAMILY(name, DEFINITIONS, KERNELS, RULES)                                          \
  DEFINITIONS(LEAT_OP_TABLE_DECLARE)                                                       \
  KERNELS(LEAT_KERNEL_TABLE_DECLARE)                                                       \
  RULES(LEAT_RULE_TABLE_DECLARE)                                                           \
  static const leat_op_row_t* const name##_ops[] = {DEFINITIONS(LEAT_OP_TABLE) 0};         \
  static const leat_kernel_row_t* const name##_kernels[] = {KERNELS(LEAT_KERNEL_TABLE) 0}; \
  static const leat_rewrite_rule_t* const name##_rules[] = {RULES(LEAT_RULE_TABLE) 0};     \
  static const leat_op_family_t name##_family = {#name, name##_ops, name##_kernels, name##_rules};
#define NO_RULES(X)

// Tensors as such: constants, shapes, joins and splits, paddings, the order of elements.
#define ARRAY_OPS(X)                                                                           \
  X(band) X(concat) X(constant) X(identity) X(matrix_diag) X(pad) X(pack) X(patches)           \
  X(placeholder) X(reshape) X(reverse) X(shape) X(space_batch) X(space_depth) X(split) X(tile) \
  X(transpose) X(watch)
#define ARRAY_KERNELS(X)                                                                     \
  X(band) X(concat) X(constant) X(identity) X(matrix_diag) X(mirror_pad) X(numerics) X(pack) \
  X(pad) X(pad_sum) X(patches) X(placeholder) X(reshape) X(reverse) X(shape) X(space_batch)  \
  X(space_depth) X(split) X(tile) X(transpose) X(watch)
#define ARRAY_RULES(X) X(pad)
FAMILY(array, ARRAY_OPS, ARRAY_KERNELS, ARRAY_RULES)

// Sound: samples [frames, channels], their files, and the features by which speech is recognised.
#define AUDIO_OPS(X) X(audio)
#define AUDIO_KERNELS(X) X(mfcc) X(spectrogram) X(wav)
FAMILY(audio, AUDIO_OPS, AUDIO_KERNELS, NO_RULES)

// What saves and restores variables (section 3.3), for checkpoints of both versions of the format.
#define CHECKPOINT_OPS(X) X(checkpoint)
#define CHECKPOINT_KERNELS(X) X(save) X(remap) X(restore) X(shard)
FAMILY(checkpoint, CHECKPOINT_OPS, CHECKPOINT_KERNELS, NO_RULES)

// What several devices make together: reductions, gathers and broadcasts.
#define COLLECTIVE_OPS(X) X(collective) X(scoped_allocator)
#define COLLECTIVE_KERNELS(X) X(collective) X(communicator) X(scoped_allocator)
FAMILY(collective, COLLECTIVE_OPS, COLLECTIVE_KERNELS, NO_RULES)

// What steers a step and computes nothing: control flow, nodes to wait for, assertions, printing,
// and what is known of the process.
#define CONTROL(X) X(flow) X(print) X(process)
FAMILY(control, CONTROL, CONTROL, NO_RULES)

// Sparse matrices in compressed rows, which are values in variant tensors.
#define CSR(X) X(csr_cholesky) X(csr_conversion) X(csr_ordering) X(csr_product)
FAMILY(csr, CSR, CSR, NO_RULES)

// tf.data's input pipelines as values in the graph, and the iterators over them.
#define DATASET_OPS(X)                                                                     \
  X(source_dataset) X(sequence_dataset) X(map_dataset) X(batch_dataset) X(shuffle_dataset) \
  X(fastest_dataset) X(stats_dataset) X(snapshot_dataset) X(declared_dataset) X(map_defun)  \
  X(data_service_dataset)                                                                  \
  X(iterator) X(multi_device_iterator) X(experimental_dataset)
#define DATASET_KERNELS(X)                                                                    \
  X(tensor_dataset) X(split_dataset) X(sparse_slice_dataset) X(sequence_dataset)              \
  X(map_dataset)                                                                              \
  X(parallel_map_dataset) X(interleave_dataset) X(parallel_interleave_dataset)                \
  X(prefetch_dataset) X(options_dataset) X(batch_dataset) X(window_dataset) X(group_dataset)  \
  X(sparse_batch_dataset) X(sleep_dataset) X(table_dataset) X(compressed_element)             \
  X(indexed_dataset) X(index_flat_map_dataset) X(batch_size) X(assert_dataset)                \
  X(scan_dataset) X(choice_dataset) X(unique_dataset) X(random_dataset) X(seed_generator)     \
  X(generator_dataset) X(reducer_dataset) X(shuffle_dataset) X(cache_dataset) X(file_dataset) \
  X(csv_dataset) X(sql_dataset) X(parse_dataset) X(iterator) X(iterator_state)                \
  X(multi_device_iterator) X(one_shot_iterator) X(dataset_reader) X(record_writer)            \
  X(save_dataset) X(load_dataset) X(matching_dataset) X(fastest_dataset) X(branch_dataset)    \
  X(stats) X(stats_dataset) X(snapshot_dataset) X(first_snapshot_dataset)                     \
  X(chunk_list_dataset) X(map_defun) X(dataset_graph) X(data_service_dataset)               \
  X(data_service_registration)
FAMILY(dataset, DATASET_OPS, DATASET_KERNELS, NO_RULES)

// Functions (section 10): arguments and return values, calls, branches and loops of calls.
#define FUNCTION(X) X(branch) X(call) X(loop)
FAMILY(function, FUNCTION, FUNCTION, NO_RULES)

// Images [batch, height, width, channels], and boxes in them.
#define IMAGE_OPS(X) \
  X(codec) X(colors) X(fused_pad_conv2d) X(image) X(resample) X(sample) X(suppression)
#define IMAGE_KERNELS(X)                                                               \
  X(colors) X(combined_suppression) X(crop) X(decode_image) X(drawing) X(encode_image) \
  X(fused_pad_conv2d) X(glimpse) X(projective) X(resample) X(resize) X(sample) X(suppression)
#define IMAGE_RULES(X) X(resize)
FAMILY(image, IMAGE_OPS, IMAGE_KERNELS, IMAGE_RULES)

// Elements and slices of tensors taken, written and found by their positions.
#define INDEX(X)                                                                             \
  X(gather) X(gather_nd) X(nearest) X(row_update) X(scatter_nd) X(search) X(slice) X(stitch) \
  X(strided_assign) X(strided_slice) X(unique) X(where)
#define INDEX_RULES(X) X(strided_slice)
FAMILY(index, INDEX, INDEX, INDEX_RULES)

// What reads data (section 4.5 of the white paper): files, readers of records, and parsers of what
// records hold.
#define INPUT_OPS(X) X(reader) X(decode) X(example)
#define INPUT_KERNELS(X) \
  X(file) X(raw) X(reader) X(reader_access) X(record_input) X(serialized_tensor) X(csv) \
  X(decode_proto) X(encode_proto) X(example)
FAMILY(input, INPUT_OPS, INPUT_KERNELS, NO_RULES)

// Containers of tensors within a step: stacks and TensorArrays, which are resources that live as
// long as their step (loops of section 4.4 save in them what their gradients need), and lists, maps
// and optionals, which are values held in variant tensors.
#define LIST(X)                                                                                  \
  X(optional) X(stack) X(tensor_array) X(tensor_array_batch) X(tensor_list) X(tensor_list_batch) \
  X(tensor_map)
FAMILY(list, LIST, LIST, NO_RULES)

// Lookup tables, which map keys to values (section 4.7): hash tables that are filled once, hash
// tables that change, and dense ones; and their filling from tensors or text files.
#define LOOKUP(X) X(table_handle) X(table_access) X(table_initialize)
FAMILY(lookup, LOOKUP, LOOKUP, NO_RULES)

// Arithmetic: elementwise functions, comparisons, casts, reductions, segment ops, scans and ranges.
#define MATH_OPS(X)                                                                         \
  X(add_n) X(arg) X(binary) X(bincount) X(broadcast) X(cast) X(compare) X(complex) X(cross) \
  X(composition) X(fused) X(isotonic) X(range) X(reduction) X(scan) X(segment) X(select)    \
  X(special) X(unary)
#define MATH_KERNELS(X)                                                                      \
  X(add_n) X(arg) X(binary) X(bincount) X(broadcast) X(cast) X(compare) X(complex) X(cross)  \
  X(composition) X(fused) X(histogram) X(isotonic) X(range) X(reduction) X(scan) X(segment)  \
  X(select) X(sparse_segment) X(special) X(unary)
#define MATH_RULES(X) X(reduction)
FAMILY(math, MATH_OPS, MATH_KERNELS, MATH_RULES)

// Matrices: products, decompositions, equations. The last two dimensions of a tensor are the
// matrix, those before them a batch.
#define MATRIX_OPS(X)                                                                            \
  X(matmul) X(sparse_matmul) X(solve) X(decomposition) X(matrix_function) X(einsum) X(solve_ls) \
  X(tridiagonal)
#define MATRIX_KERNELS(X)                                                                    \
  X(matmul) X(fused_matmul) X(product_sum) X(sparse_matmul) X(solve) X(decomposition)        \
  X(matrix_function) X(einsum) X(solve_ls) X(tridiagonal)
#define MATRIX_RULES(X) X(matmul)
FAMILY(matrix, MATRIX_OPS, MATRIX_KERNELS, MATRIX_RULES)

// Neural networks: activations, biases, convolutions, pools, normalisations and losses.
#define NN_OPS(X)                                                                             \
  X(bias) X(relu) X(softmax) X(loss) X(conv2d) X(fused_conv2d) X(ctc_decoder) X(ctc_loss)     \
  X(pool) X(top_k) X(batch_norm) X(lrn) X(data_format) X(dilation2d) X(conv3d) X(global_norm) \
  X(fractional_pool)
#define NN_KERNELS(X)                                                                         \
  X(bias) X(relu) X(softmax) X(cross_entropy) X(conv2d) X(fused_conv2d) X(ctc_decoder)        \
  X(ctc_loss) X(max_pool) X(avg_pool) X(top_k) X(batch_norm) X(l2_loss) X(lrn) X(data_format) \
  X(dilation2d) X(conv3d) X(global_norm) X(fractional_pool)
#define NN_RULES(X) X(epilogue) X(loss)
FAMILY(nn, NN_OPS, NN_KERNELS, NN_RULES)

// Quantisation: between real numbers and the integers of few bits that stand for them.
#define QUANTIZE_OPS(X) \
  X(fake_quant) X(quantization) X(quantized_arithmetic) X(quantized_fused) X(uniform)
#define QUANTIZE_KERNELS(X)                                                                   \
  X(fake_quant) X(quantization) X(quantized) X(quantized_binary) X(quantized_concat)          \
  X(quantized_fused_conv2d) X(quantized_fused_matmul) X(quantized_norm) X(quantized_pool)     \
  X(quantized_product) X(quantized_relu) X(requantize) X(uniform) X(uniform_product)
FAMILY(quantize, QUANTIZE_OPS, QUANTIZE_KERNELS, NO_RULES)

// Resources that lie between steps and are filled and emptied by calls that may have to wait
// (section 4.6): queues, barriers, accumulators of gradients, mutexes, batches of several steps.
#define QUEUE_OPS(X) X(queue) X(barrier) X(accumulator) X(sparse_accumulator) X(batch)
#define QUEUE_KERNELS(X)                                                                    \
  X(queue_handle) X(queue_access) X(barrier) X(accumulator) X(sparse_accumulator) X(mutex) \
  X(batch) X(unbatch)
FAMILY(queue, QUEUE_OPS, QUEUE_KERNELS, NO_RULES)

// Ragged tensors, whose rows have different lengths.
#define RAGGED_OPS(X) X(ragged_conversion) X(ragged_gather) X(ragged_range) X(ragged_variant)
#define RAGGED_KERNELS(X) \
  X(ragged_gather) X(ragged_range) X(ragged_to_sparse) X(ragged_to_tensor) X(ragged_variant)
FAMILY(ragged, RAGGED_OPS, RAGGED_KERNELS, NO_RULES)

// Random numbers. For the same seeds they are TensorFlow's, whatever the number of threads.
#define RANDOM_OPS(X) \
  X(clustering) X(distribution) X(candidate) X(shuffle) X(sobol) X(stochastic_cast) \
  X(variable_generator)
#define RANDOM_KERNELS(X)                                                                 \
  X(bounded_normal) X(candidate) X(clustering) X(distribution) X(gamma) X(multinomial)    \
  X(poisson) X(shuffle) X(sobol) X(stateless) X(stochastic_cast) X(variable_generator)
FAMILY(random, RANDOM_OPS, RANDOM_KERNELS, NO_RULES)

// Recurrent cells whose steps, or whose whole sequences, are single nodes.
#define RECURRENT_OPS(X) X(block_cell)
#define RECURRENT_KERNELS(X) X(gru) X(lstm)
FAMILY(recurrent, RECURRENT_OPS, RECURRENT_KERNELS, NO_RULES)

// The two ends of an edge that crosses devices (section 3.2.2).
#define SENDRECV(X) X(transfer)
FAMILY(sendrecv, SENDRECV, SENDRECV, NO_RULES)

// Tensors that hold only what is there: indices with values.
#define SPARSE_OPS(X)                                                                            \
  X(edit_distance) X(feature_cross) X(sparse_layout) X(tensors_map) X(serialized_entries)        \
  X(sparse_count) X(sparse_dense) X(sparse_extremum) X(sparse_reduction) X(sparse_slice)         \
  X(sparse_softmax) X(sparse_sum) X(set_operation)
#define SPARSE_KERNELS(X)                                                                        \
  X(edit_distance) X(feature_cross) X(reorder) X(tensors_map) X(serialized_entries)              \
  X(sparse_concat) X(sparse_count) X(sparse_dense) X(sparse_extremum) X(sparse_reduction)        \
  X(sparse_slice) X(sparse_softmax) X(sparse_sum) X(empty_rows) X(set_operation)                 \
  X(sparse_reshape) X(sparse_to_dense)
FAMILY(sparse, SPARSE_OPS, SPARSE_KERNELS, NO_RULES)

// Staging areas, in which one step leaves tuples of tensors for a later one, in order or by key. A
// pipeline uses them to copy the next batch to a device while the current one is computed.
#define STAGE(X) X(staging) X(map_stage)
FAMILY(stage, STAGE, STAGE, NO_RULES)

// Variables and what updates them (section 4.7 of the white paper): by reference and by resource
// handle.
#define STATE_OPS(X) \
  X(variable) X(resource_gather) X(resource_variable) X(scatter) X(session_tensor)
#define STATE_KERNELS(X)                                                              \
  X(variable) X(assign) X(counter) X(resource_gather) X(resource_variable) X(scatter) \
  X(session_tensor) X(temporary)
#define STATE_RULES(X) X(scatter)
FAMILY(state, STATE_OPS, STATE_KERNELS, STATE_RULES)

// Signals: Fourier transforms.
#define SIGNAL(X) X(fourier)
FAMILY(signal, SIGNAL, SIGNAL, NO_RULES)

// Tensors of strings.
#define STRING_OPS(X) X(string) X(unicode)
#define STRING_KERNELS(X)                                                                  \
  X(base64) X(format) X(hash) X(join) X(ngrams) X(number) X(regex) X(regex_replace)        \
  X(string_split) X(text) X(unicode) X(unicode_script)
FAMILY(string, STRING_OPS, STRING_KERNELS, NO_RULES)

// Summaries (section 9.1): values described as encoded Summary messages, which a client or an op
// writes to event files for TensorBoard.
#define SUMMARY_OPS(X) X(summary) X(summary_writer)
#define SUMMARY_KERNELS(X) X(audio) X(image) X(summarize) X(summary_writer)
FAMILY(summary, SUMMARY_OPS, SUMMARY_KERNELS, NO_RULES)

// What moves variables along their gradients: the optimizers of training (section 7 of the white
// paper).
#define TRAIN_OPS(X) X(optimizer) X(sdca) X(word2vec)
#define TRAIN_KERNELS(X) X(neg_train) X(optimizer) X(sdca) X(sdca_optimizer) X(skipgram)
#define TRAIN_RULES(X) X(update)
FAMILY(train, TRAIN_OPS, TRAIN_KERNELS, TRAIN_RULES)

const leat_op_family_t* const leat_op_families[] = {
    &array_family, &audio_family, &checkpoint_family, &collective_family, &control_family,
    &csr_family, &dataset_family, &function_family, &image_family, &index_family, &input_family,
    &list_family, &lookup_family, &math_family, &matrix_family, &nn_family, &quantize_family,
    &queue_family, &ragged_family, &random_family, &recurrent_family, &sendrecv_family,
    &signal_family, &sparse_family, &stage_family, &state_family, &string_family, &summary_family,
    &train_family, 0};
