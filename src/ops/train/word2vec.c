// Definitions of the ops with which TensorFlow 1.0 trained word2vec (Mikolov et al., "Distributed
// representations of words and phrases and their compositionality", 2013). They were deprecated
// with version 19 of graphs, so that only older graphs hold them.
//
//   Skipgram   a text file -> its words and how often each occurs, and in each step the next
//              examples of the text, each a word and one of the words around it
//   NegTrain   examples and labels [batch] -> one step of gradient descent for each example on the
//              rows of two variables [words, dims]
//
// A word is known by its place in the vocabulary, where 0 stands for all rare words. The kernels
// are in skipgram_cpu.c and neg_train_cpu.c.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

#define DEPRECATED                                                              \
  .deprecated_since = 19,                                                       \
  .deprecation = "Moving word2vec into tensorflow_models/tutorials and deprecating its ops " \
                 "here as a result"

const leat_op_row_t leat_word2vec_ops[] = {
    {.name = "Skipgram",
     .outputs = "vocab_word: string; vocab_freq: int32; words_per_epoch: int64; "
                "current_epoch: int32; total_words_processed: int64; examples: int32; "
                "labels: int32",
     .attrs = "filename: string; batch_size: int; window_size: int = 5; min_count: int = 5; "
              "subsample: float = 0.001",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_unknown,
     .doc = "The words of a text file, and pairs of words that stand near each other in it.",
     DEPRECATED},
    {.name = "NegTrain",
     .inputs = "w_in: Ref(float); w_out: Ref(float); examples: int32; labels: int32; lr: float",
     .attrs = "vocab_count: list(int); num_negative_samples: int",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_none,
     .doc = "Trains the vectors of words to tell true pairs of words from drawn ones.",
     DEPRECATED},
    LEAT_OP_ROWS_END,
};
