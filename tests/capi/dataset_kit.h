// What the tests of datasets through the front door share: nodes of a graph as text
// (capi/function_kit.h), for datasets whose elements are of one component, an int64 scalar.
#ifndef LEAT_TESTS_CAPI_DATASET_KIT_H_
#define LEAT_TESTS_CAPI_DATASET_KIT_H_

#include "capi/function_kit.h"

#define INT64(value) CONST("INT64", "int64_val", value)
#define TEXT(name, value) NODE(name, "Const", , CONST("STRING", "string_val", "'" value "'"))
#define SCALAR " attr { key: 'output_shapes' value { list { shape {} } } }"
#define ELEMENT TYPES("output_types", "DT_INT64") SCALAR
#define NO_ARGUMENTS " attr { key: 'Targuments' value { list {} } }"
#define NAMES \
  " attr { key: 'shared_name' value { s: '' } } attr { key: 'container' value { s: '' } }"

// Functions of what is written in shards and read again: "Read" gives the elements of one shard
// after the other, "Shard" puts even numbers into shard 0 and odd ones into shard 1, and what
// "NoNumber" gives is no number of a shard.
#define ITSELF FUNCTION("Itself", ARG("d", "VARIANT") OUT("r", "VARIANT"), RET("r", "d"))
#define READ                                                                                  \
  FUNCTION("Read", ARG("shards", "VARIANT") OUT("r", "VARIANT"),                              \
           DEF("f", "FlatMapDataset", IN("shards"), ELEMENT NO_ARGUMENTS FUNC("f", "Itself")) \
               RET("r", "f:handle:0"))
#define SHARD                                                                       \
  FUNCTION("Shard", ARG("a", "INT64") OUT("r", "INT64"),                            \
           DEF("two", "Const", , INT64("2"))                                        \
               DEF("m", "FloorMod", IN("a") IN("two:output:0"), TYPE("T", "INT64")) \
                   RET("r", "m:z:0"))
#define NO_NUMBER                                                                 \
  FUNCTION("NoNumber", ARG("a", "INT64") OUT("r", "FLOAT"),                       \
           DEF("c", "Cast", IN("a"), TYPE("SrcT", "INT64") TYPE("DstT", "FLOAT")) \
               RET("r", "c:y:0"))
#define SHARD_FUNCTIONS LIBRARY ITSELF READ SHARD NO_NUMBER END

#define ITERATOR(dataset)                              \
  NODE("it", "IteratorV2", , ELEMENT NAMES)            \
  NODE("make", "MakeIterator", IN(dataset) IN("it"), ) \
  NODE("next", "IteratorGetNext", IN("it"), ELEMENT)

#endif  // LEAT_TESTS_CAPI_DATASET_KIT_H_
