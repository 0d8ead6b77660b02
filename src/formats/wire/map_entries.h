// The entries of maps: on the wire a map is a list in which a key may be repeated. The decoders
// drop the repeated ones, as protocol buffers ask, and the encoder and the text format write
// entries in the order of their keys, so that equal messages give equal bytes.
#ifndef LEAT_FORMATS_WIRE_MAP_ENTRIES_H_
#define LEAT_FORMATS_WIRE_MAP_ENTRIES_H_

#include "formats/wire/message.h"

// Keeps the last of the entries that have equal keys; the order stays. |allocator| gives scratch.
LEAT_MUST_USE leat_status_t leat_map_entries_drop_repeated(
    leat_allocator_t* allocator, const leat_message_descriptor_t* entry, leat_pb_list_t* list);

// Fills |out_order| (room for list->count) with the entries' indices in the order in which they are
// written: by key, strings bytewise, numbers by value.
void leat_map_entries_order(const leat_message_descriptor_t* entry, const leat_pb_list_t* list,
                            size_t* out_order);

#endif  // LEAT_FORMATS_WIRE_MAP_ENTRIES_H_
