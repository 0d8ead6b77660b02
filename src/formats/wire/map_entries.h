// Maps after their entries were read: on the wire a map is a list in which a key may be repeated.
#ifndef LEAT_FORMATS_WIRE_MAP_ENTRIES_H_
#define LEAT_FORMATS_WIRE_MAP_ENTRIES_H_

#include "formats/wire/message.h"

// Keeps the last of the entries that have equal keys; the order stays. |allocator| gives scratch.
LEAT_MUST_USE leat_status_t leat_map_entries_drop_repeated(
    leat_allocator_t* allocator, const leat_message_descriptor_t* entry, leat_pb_list_t* list);

#endif  // LEAT_FORMATS_WIRE_MAP_ENTRIES_H_
