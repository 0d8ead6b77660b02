// The string that TF_STRING tensors hold: 24 bytes, the same in every program and library of the
// TensorFlow family, so that a tensor of strings crosses the C API without a copy.
//
// A string is in one of four forms, told apart by the two lowest bits of its first byte:
//
//          byte 0        1          8             16           24
//   SMALL  | size<<2|0   | up to 22 characters, then NUL ...    |   inside the object itself
//   LARGE  | size<<2|1              | capacity    | pointer     |   on the heap, owned
//   OFFSET | u32 size<<2|2, u32 off | u32 count   |             |   |off| bytes after the object
//   VIEW   | size<<2|3              | pointer     | owner       |   somewhere else, borrowed
//
// Invariants: all 24 bytes zero is the empty string. A string of up to 22 bytes that this code
// wrote is SMALL, a longer one LARGE; only these two can be written to, and only these two end in a
// NUL (which the size does not count; the bytes may hold NULs of their own). OFFSET is read-only
// and occurs in files mapped into memory; it breaks when the object is moved with memcpy, the other
// three do not.
//
// The layout is the contract, so the functions that know it are here, inline; a program that uses
// them needs nothing from the library. They are not locked: a string has one writer at a time.
// Where memory runs out, the string keeps its old value (functions that return a pointer return
// NULL, of the others look at the size).

#ifndef TENSORFLOW_C_TF_TSTRING_H_
#define TENSORFLOW_C_TF_TSTRING_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_tensor.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "TF_TString is laid out here for little-endian machines only"
#endif
#define TF_TSTRING_LITTLE_ENDIAN 1
#define TF_le32toh(x) (x)

#ifdef __cplusplus
extern "C" {
#endif

// Which of the four forms a string is in.
typedef enum TF_TString_Type {
  TF_TSTR_SMALL = 0x00,
  TF_TSTR_LARGE = 0x01,
  TF_TSTR_OFFSET = 0x02,
  TF_TSTR_VIEW = 0x03,
  TF_TSTR_TYPE_MASK = 0x03
} TF_TString_Type;

// Somebody who keeps the bytes of VIEWs alive: |ref| is called for every string that comes to point
// at them, |unref| for every string that stops (true: that was the last one). Both may be called
// from any thread. |obj| is the owner's own.
struct TStringOwnerCApi;
typedef void (*tstring_owner_ref_t)(struct TStringOwnerCApi* self);
typedef bool (*tstring_owner_unref_t)(struct TStringOwnerCApi* self);
typedef struct TStringOwnerCApi {
  tstring_owner_ref_t ref;
  tstring_owner_unref_t unref;
  void* obj;
} TStringOwnerCApi;

typedef struct TF_TString_Large {
  size_t size;  // bytes << 2 | TF_TSTR_LARGE
  size_t cap;   // bytes that fit before the NUL
  char* ptr;    // from malloc, cap + 1 bytes
} TF_TString_Large;

typedef struct TF_TString_Offset {
  uint32_t size;    // bytes << 2 | TF_TSTR_OFFSET
  uint32_t offset;  // from the start of the TF_TString
  uint32_t count;   // of elements, in the first of an array
} TF_TString_Offset;

typedef struct TF_TString_View {
  size_t size;  // bytes << 2 | TF_TSTR_VIEW
  const char* ptr;
  TStringOwnerCApi* owner_ref;  // NULL: whoever made the view sees to its life
} TF_TString_View;

typedef struct TF_TString_Raw {
  uint8_t raw[24];
} TF_TString_Raw;

typedef union TF_TString_Union {
  TF_TString_Large large;
  TF_TString_Offset offset;
  TF_TString_View view;
  TF_TString_Raw raw;
} TF_TString_Union;

// The longest SMALL string: what is left of the object beside the size byte and the NUL.
enum { TF_TString_SmallCapacity = sizeof(TF_TString_Union) - 2 };

typedef struct TF_TString_Small {
  uint8_t size;  // bytes << 2 | TF_TSTR_SMALL
  char str[TF_TString_SmallCapacity + 1];
} TF_TString_Small;

typedef struct TF_TString {
  union {
    TF_TString_Small smll;  // "small" is a macro in some Windows headers
    TF_TString_Large large;
    TF_TString_Offset offset;
    TF_TString_View view;
    TF_TString_Raw raw;
  } u;
} TF_TString;

// --- The size word ---------------------------------------------------------------------------

static inline size_t TF_TString_ToActualSizeT(size_t size) { return size >> 2; }

static inline size_t TF_TString_ToInternalSizeT(size_t size, TF_TString_Type type) {
  return (size << 2) | (size_t)type;
}

// Whether a size can be kept at all: two bits of the word are the form's.
static inline bool TF_TString_SizeFits(size_t size) { return size < (SIZE_MAX >> 2) - 16; }

// --- Birth, death, reading -------------------------------------------------------------------

// Makes raw memory the empty string. What was there is forgotten, not released.
static inline void TF_TString_Init(TF_TString* str) { memset(str, 0, sizeof(*str)); }

static inline TF_TString_Type TF_TString_GetType(const TF_TString* str) {
  return (TF_TString_Type)(str->u.raw.raw[0] & TF_TSTR_TYPE_MASK);
}

// Releases what the string owns: the heap block of a LARGE one, the hold of a VIEW on its owner; a
// string that owned something is empty afterwards, any other is left as it is. Every string that
// was initialised needs this at its end (a SMALL one could do without).
static inline void TF_TString_Dealloc(TF_TString* str) {
  const TF_TString_Type type = TF_TString_GetType(str);
  if (type == TF_TSTR_LARGE && str->u.large.ptr != NULL) {
    free(str->u.large.ptr);
    TF_TString_Init(str);
  } else if (type == TF_TSTR_VIEW && str->u.view.owner_ref != NULL) {
    TStringOwnerCApi* const owner = str->u.view.owner_ref;
    TF_TString_Init(str);
    (void)owner->unref(owner);
  }
}

// The length in bytes, without the NUL.
static inline size_t TF_TString_GetSize(const TF_TString* str) {
  switch (TF_TString_GetType(str)) {
    case TF_TSTR_LARGE:
      return TF_TString_ToActualSizeT(str->u.large.size);
    case TF_TSTR_OFFSET:
      return str->u.offset.size >> 2;
    case TF_TSTR_VIEW:
      return TF_TString_ToActualSizeT(str->u.view.size);
    case TF_TSTR_SMALL:
    default:
      return str->u.smll.size >> 2;
  }
}

// Bytes that can be written without a new block; 0 for OFFSET and VIEW, which are read-only.
static inline size_t TF_TString_GetCapacity(const TF_TString* str) {
  switch (TF_TString_GetType(str)) {
    case TF_TSTR_SMALL:
      return TF_TString_SmallCapacity;
    case TF_TSTR_LARGE:
      return str->u.large.cap;
    default:
      return 0;
  }
}

// The first byte. Valid until the string is next changed, moved or released; for a SMALL string it
// lies inside the object. There may be no NUL behind an OFFSET or a VIEW.
static inline const char* TF_TString_GetDataPointer(const TF_TString* str) {
  switch (TF_TString_GetType(str)) {
    case TF_TSTR_LARGE:
      return str->u.large.ptr;
    case TF_TSTR_OFFSET:
      return (const char*)str + str->u.offset.offset;
    case TF_TSTR_VIEW:
      return str->u.view.ptr;
    case TF_TSTR_SMALL:
    default:
      return str->u.smll.str;
  }
}

// --- Capacity and size -----------------------------------------------------------------------

// Gives the string a heap block for exactly |cap| bytes and the NUL, with as much of the content as
// fits. The part that Reserve and Resize share. False, and nothing changed, when there is no
// memory.
static inline bool TF_TString_Reallocate(TF_TString* str, size_t cap) {
  const size_t size = TF_TString_GetSize(str);
  const size_t kept = size < cap ? size : cap;
  char* block;
  if (TF_TString_GetType(str) == TF_TSTR_LARGE) {
    block = (char*)realloc(str->u.large.ptr, cap + 1);
    if (block == NULL) return false;
  } else {
    block = (char*)malloc(cap + 1);
    if (block == NULL) return false;
    if (kept != 0) memcpy(block, TF_TString_GetDataPointer(str), kept);
    TF_TString_Dealloc(str);
  }
  block[kept] = '\0';
  str->u.large.size = TF_TString_ToInternalSizeT(kept, TF_TSTR_LARGE);
  str->u.large.cap = cap;
  str->u.large.ptr = block;
  return true;
}

// Capacities are one less than a multiple of 16, so that the block with its NUL is a whole one.
static inline size_t TF_TString_RoundCapacity(size_t cap) { return cap | 15; }

// Makes sure that the string can grow to |new_cap| bytes without another block. Content and size
// stay; the capacity never shrinks. Nothing happens for a |new_cap| that a SMALL string has anyway.
static inline void TF_TString_Reserve(TF_TString* str, size_t new_cap) {
  if (new_cap <= TF_TString_SmallCapacity || !TF_TString_SizeFits(new_cap)) return;
  if (TF_TString_GetType(str) == TF_TSTR_LARGE && new_cap <= str->u.large.cap) return;
  const size_t size = TF_TString_GetSize(str);
  (void)TF_TString_Reallocate(str, TF_TString_RoundCapacity(new_cap > size ? new_cap : size));
}

// The same, but at least doubling, so that appending n times costs O(n).
static inline void TF_TString_ReserveAmortized(TF_TString* str, size_t new_cap) {
  const size_t cap = TF_TString_GetCapacity(str);
  if (new_cap > cap) TF_TString_Reserve(str, new_cap > 2 * cap ? new_cap : 2 * cap);
}

// The case of a resize whose result is SMALL.
static inline char* TF_TString_ResizeSmall(TF_TString* str, size_t new_size) {
  if (TF_TString_GetType(str) != TF_TSTR_SMALL) {
    const size_t size = TF_TString_GetSize(str);
    const size_t kept = size < new_size ? size : new_size;
    TF_TString small;
    TF_TString_Init(&small);
    if (kept != 0) memcpy(small.u.smll.str, TF_TString_GetDataPointer(str), kept);
    TF_TString_Dealloc(str);
    *str = small;
  }
  str->u.smll.size = (uint8_t)(new_size << 2);
  str->u.smll.str[new_size] = '\0';
  return str->u.smll.str;
}

// Makes the string |new_size| bytes long and writable, and returns its first byte. The old content
// stays as far as it fits; what lies beyond it has no particular value. NULL, with the string
// unchanged, when there is no memory. A block that would be less than half used shrinks.
static inline char* TF_TString_ResizeUninitialized(TF_TString* str, size_t new_size) {
  if (new_size <= TF_TString_SmallCapacity) return TF_TString_ResizeSmall(str, new_size);
  if (!TF_TString_SizeFits(new_size)) return NULL;
  const size_t cap = TF_TString_GetCapacity(str);
  if (new_size > cap) {
    if (!TF_TString_Reallocate(str, TF_TString_RoundCapacity(new_size))) return NULL;
  } else if (new_size < TF_TString_GetSize(str) && new_size < cap / 2) {
    // Where even less memory cannot be had, the larger block serves.
    (void)TF_TString_Reallocate(str, TF_TString_RoundCapacity(cap / 2));
  }
  str->u.large.size = TF_TString_ToInternalSizeT(new_size, TF_TSTR_LARGE);
  str->u.large.ptr[new_size] = '\0';
  return str->u.large.ptr;
}

// The same, with every byte beyond the old content set to |c|.
static inline char* TF_TString_Resize(TF_TString* str, size_t new_size, char c) {
  const size_t size = TF_TString_GetSize(str);
  char* const data = TF_TString_ResizeUninitialized(str, new_size);
  if (data != NULL && new_size > size) memset(data + size, c, new_size - size);
  return data;
}

// The first byte, for writing. An OFFSET or VIEW becomes a copy of its own first.
static inline char* TF_TString_GetMutableDataPointer(TF_TString* str) {
  switch (TF_TString_GetType(str)) {
    case TF_TSTR_SMALL:
      return str->u.smll.str;
    case TF_TSTR_LARGE:
      return str->u.large.ptr;
    default:
      return TF_TString_ResizeUninitialized(str, TF_TString_GetSize(str));
  }
}

// --- Assignment ------------------------------------------------------------------------------

// Makes |dst| the |size| bytes at |src|, copied. |src| may lie within |dst| itself.
static inline void TF_TString_Copy(TF_TString* dst, const char* src, size_t size) {
  const TF_TString_Type type = TF_TString_GetType(dst);
  const size_t cap = TF_TString_GetCapacity(dst);
  const bool small = size <= TF_TString_SmallCapacity;
  if (type == TF_TSTR_SMALL ? small : !small && size <= cap && size >= cap / 2) {
    char* const data = TF_TString_GetMutableDataPointer(dst);
    if (size != 0) memmove(data, src, size);
    (void)TF_TString_ResizeUninitialized(dst, size);
    return;
  }
  TF_TString copy;
  TF_TString_Init(&copy);
  char* const data = TF_TString_ResizeUninitialized(&copy, size);
  if (data == NULL) return;
  if (size != 0) memcpy(data, src, size);
  TF_TString_Dealloc(dst);
  *dst = copy;
}

// Makes |dst| a VIEW of the |size| bytes at |src|. If there is an |owner_ref|, the view holds it
// until it is changed or released; if not, the bytes must outlive the view.
static inline void TF_TString_AssignViewWithOwner(TF_TString* dst, const char* src, size_t size,
                                                  TStringOwnerCApi* owner_ref) {
  if (owner_ref != NULL) owner_ref->ref(owner_ref);
  TF_TString_Dealloc(dst);
  dst->u.view.size = TF_TString_ToInternalSizeT(size, TF_TSTR_VIEW);
  dst->u.view.ptr = src;
  dst->u.view.owner_ref = owner_ref;
}

static inline void TF_TString_AssignView(TF_TString* dst, const char* src, size_t size) {
  TF_TString_AssignViewWithOwner(dst, src, size, NULL);
}

// Makes |dst| equal to |src|: a copy of a SMALL or LARGE string, another view of the same bytes
// (with a hold on the same owner) for a VIEW, a view without owner for an OFFSET.
static inline void TF_TString_Assign(TF_TString* dst, const TF_TString* src) {
  if (dst == src) return;
  const TF_TString_Type type = TF_TString_GetType(src);
  const char* const data = TF_TString_GetDataPointer(src);
  const size_t size = TF_TString_GetSize(src);
  if (type == TF_TSTR_VIEW) {
    TF_TString_AssignViewWithOwner(dst, data, size, src->u.view.owner_ref);
  } else if (type == TF_TSTR_OFFSET) {
    TF_TString_AssignView(dst, data, size);
  } else {
    TF_TString_Copy(dst, data, size);
  }
}

// Makes |dst| what |src| was, without copying a heap block. A LARGE or VIEW |src| is empty
// afterwards, a SMALL or OFFSET one is unchanged.
static inline void TF_TString_Move(TF_TString* dst, TF_TString* src) {
  if (dst == src) return;
  const TF_TString_Type type = TF_TString_GetType(src);
  if (type == TF_TSTR_OFFSET) {
    TF_TString_Assign(dst, src);
    return;
  }
  TF_TString_Dealloc(dst);
  *dst = *src;
  if (type != TF_TSTR_SMALL) TF_TString_Init(src);
}

// Adds the |size| bytes at |src| to the end. |src| may lie within |dst| itself.
static inline void TF_TString_AppendN(TF_TString* dst, const char* src, size_t size) {
  if (size == 0) return;
  const size_t old_size = TF_TString_GetSize(dst);
  if (!TF_TString_SizeFits(size) || !TF_TString_SizeFits(old_size + size)) return;
  // Growing may free the block that |src| points into: remember the place, not the address.
  const uintptr_t at = (uintptr_t)src - (uintptr_t)TF_TString_GetDataPointer(dst);
  const bool inside = at < old_size && size <= old_size - at;
  TF_TString_ReserveAmortized(dst, old_size + size);
  char* const data = TF_TString_ResizeUninitialized(dst, old_size + size);
  if (data != NULL) memmove(data + old_size, inside ? data + at : src, size);
}

static inline void TF_TString_Append(TF_TString* dst, const TF_TString* src) {
  TF_TString_AppendN(dst, TF_TString_GetDataPointer(src), TF_TString_GetSize(src));
}

// --- The same, exported ----------------------------------------------------------------------
// For languages that call functions of a shared library and cannot include C. Each does what the
// inline function of the same name with TF_TString_ does.

TF_CAPI_EXPORT void TF_StringInit(TF_TString* t);
TF_CAPI_EXPORT void TF_StringCopy(TF_TString* dst, const char* src, size_t size);
TF_CAPI_EXPORT void TF_StringAssignView(TF_TString* dst, const char* src, size_t size);
TF_CAPI_EXPORT const char* TF_StringGetDataPointer(const TF_TString* tstr);
TF_CAPI_EXPORT TF_TString_Type TF_StringGetType(const TF_TString* str);
TF_CAPI_EXPORT size_t TF_StringGetSize(const TF_TString* tstr);
TF_CAPI_EXPORT size_t TF_StringGetCapacity(const TF_TString* str);
TF_CAPI_EXPORT void TF_StringDealloc(TF_TString* tstr);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_TF_TSTRING_H_
