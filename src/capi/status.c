// TF_Status: a leat_status_t with TensorFlow's payloads, which are texts under keys, in a list
// beside it. The status itself is one word, NULL for OK, so that setting OK costs nothing. Payloads
// belong to an error and go with it. An error of the operating system is translated into one of
// TensorFlow's codes in the way that TensorFlow does it.
#include <errno.h>
#include <string.h>

#include "capi/plugin/plugin.h"

struct leat_capi_payload_s {
  leat_capi_payload_t* next;
  char* value;
  char key[];
};

static void free_payload(leat_capi_payload_t* payload) {
  leat_allocator_free(leat_allocator_system(), payload->value);
  leat_allocator_free(leat_allocator_system(), payload);
}

// Makes |status| OK and frees its payloads.
void leat_capi_status_clear(TF_Status* status) {
  leat_status_free(status->status);
  status->status = leat_ok_status();
  while (status->payloads) {
    leat_capi_payload_t* payload = status->payloads;
    status->payloads = payload->next;
    free_payload(payload);
  }
}

leat_status_t leat_capi_status_take(TF_Status* status) {
  leat_status_t taken = status->status;
  status->status = leat_ok_status();
  leat_capi_status_clear(status);
  return taken;
}

void leat_capi_status_unimplemented(TF_Status* out_status, const char* function) {
  leat_capi_status_set(out_status, leat_make_status(LEAT_UNIMPLEMENTED,
                                                    "%s is not available in this version of Leat",
                                                    function));
}

TF_Status* TF_NewStatus(void) {
  void* status = NULL;
  leat_status_t failure =
      leat_allocator_allocate(leat_allocator_system(), sizeof(TF_Status), &status);
  leat_status_free(failure);
  return status;
}

void TF_DeleteStatus(TF_Status* s) {
  if (!s) return;
  leat_capi_status_clear(s);
  leat_allocator_free(leat_allocator_system(), s);
}

void TF_SetStatus(TF_Status* s, TF_Code code, const char* msg) {
  leat_status_t status = leat_ok_status();
  if (code != TF_OK) {
    bool known = code > TF_OK && code <= TF_UNAUTHENTICATED;
    // The new status is made first, because |msg| may be the text of the old one.
    status = leat_make_status(known ? (leat_status_code_t)code : LEAT_UNKNOWN, "%s",
                              msg ? msg : "");
  }
  leat_capi_status_set(s, status);
}

// Returns a copy of |value|; NULL where there is no memory.
static char* copy_text(const char* value) {
  char* copy = NULL;
  leat_status_free(
      leat_allocator_clone_string(leat_allocator_system(), value, strlen(value), &copy));
  return copy;
}

// Takes |value| over, also without memory for the payload.
static void add_payload(TF_Status* s, const char* key, char* value) {
  size_t key_bytes = strlen(key) + 1;
  void* memory = NULL;
  leat_status_t status = leat_allocator_allocate(
      leat_allocator_system(), sizeof(leat_capi_payload_t) + key_bytes, &memory);
  if (status) {
    leat_status_free(status);
    leat_allocator_free(leat_allocator_system(), value);
    return;
  }
  leat_capi_payload_t* payload = memory;
  memcpy(payload->key, key, key_bytes);
  payload->value = value;
  payload->next = s->payloads;
  s->payloads = payload;
}

// An OK status has no payloads. Without memory the payload is left out, since there is no way to
// say so.
void TF_SetPayload(TF_Status* s, const char* key, const char* value) {
  if (leat_status_is_ok(s->status)) return;
  char* copy = copy_text(value);
  if (!copy) return;
  for (leat_capi_payload_t* p = s->payloads; p; p = p->next) {
    if (strcmp(p->key, key) == 0) {
      leat_allocator_free(leat_allocator_system(), p->value);
      p->value = copy;
      return;
    }
  }
  add_payload(s, key, copy);
}

void TF_ForEachPayload(const TF_Status* s, TF_PayloadVisitor visitor, void* capture) {
  for (const leat_capi_payload_t* p = s->payloads; p; p = p->next) {
    visitor(p->key, p->value, capture);
  }
}

static leat_status_code_t code_of_errno(int error_code) {
  switch (error_code) {
    case 0: return LEAT_OK;
    case EINVAL: case ENAMETOOLONG: case E2BIG: case EDESTADDRREQ: case EDOM: case EFAULT:
    case EILSEQ: case ENOPROTOOPT: case ENOSTR: case ENOTSOCK: case ENOTTY: case EPROTOTYPE:
    case ESPIPE:
      return LEAT_INVALID_ARGUMENT;
    case ETIMEDOUT: case ETIME: return LEAT_DEADLINE_EXCEEDED;
    case ENODEV: case ENOENT: case ENXIO: case ESRCH: return LEAT_NOT_FOUND;
    case EEXIST: case EADDRNOTAVAIL: case EALREADY: return LEAT_ALREADY_EXISTS;
    case EPERM: case EACCES: case EROFS: return LEAT_PERMISSION_DENIED;
    case ENOTEMPTY: case EISDIR: case ENOTDIR: case EADDRINUSE: case EBADF: case EBUSY:
    case ECHILD: case EISCONN: case ENOTBLK: case ENOTCONN: case EPIPE: case ESHUTDOWN:
    case ETXTBSY:
      return LEAT_FAILED_PRECONDITION;
    case ENOSPC: case EDQUOT: case EMFILE: case EMLINK: case ENFILE: case ENOBUFS: case ENODATA:
    case ENOMEM: case ENOSR: case EUSERS:
      return LEAT_RESOURCE_EXHAUSTED;
    case EFBIG: case EOVERFLOW: case ERANGE: return LEAT_OUT_OF_RANGE;
    case ENOSYS: case ENOTSUP: case EAFNOSUPPORT: case EPFNOSUPPORT: case EPROTONOSUPPORT:
    case ESOCKTNOSUPPORT: case EXDEV:
      return LEAT_UNIMPLEMENTED;
    case EAGAIN: case ECONNREFUSED: case ECONNABORTED: case ECONNRESET: case EINTR:
    case EHOSTDOWN: case EHOSTUNREACH: case ENETDOWN: case ENETRESET: case ENETUNREACH:
    case ENOLCK: case ENOLINK: case ENONET:
      return LEAT_UNAVAILABLE;
    case EDEADLK: case ESTALE: return LEAT_ABORTED;
    case ECANCELED: return LEAT_CANCELLED;
    default: return LEAT_UNKNOWN;
  }
}

void TF_SetStatusFromIOError(TF_Status* s, int error_code, const char* context) {
  leat_status_code_t code = code_of_errno(error_code);
  leat_status_t status = leat_ok_status();
  if (code != LEAT_OK) {
    status = leat_make_status(code, "%s; %s", context ? context : "", strerror(error_code));
  }
  leat_capi_status_set(s, status);
}

TF_Code TF_GetCode(const TF_Status* s) {
  return leat_status_is_ok(s->status) ? TF_OK : (TF_Code)leat_status_code(s->status);
}

const char* TF_Message(const TF_Status* s) { return leat_status_message(s->status); }

// ---- Under the names of TensorFlow's support library -------------------------------------------

TSL_Status* TSL_NewStatus(void) { return TF_NewStatus(); }

void TSL_DeleteStatus(TSL_Status* s) { TF_DeleteStatus(s); }

void TSL_SetStatus(TSL_Status* s, TSL_Code code, const char* msg) { TF_SetStatus(s, code, msg); }

void TSL_SetPayload(TSL_Status* s, const char* key, const char* value) {
  TF_SetPayload(s, key, value);
}

void TSL_ForEachPayload(const TSL_Status* s, TSL_PayloadVisitor visitor, void* capture) {
  TF_ForEachPayload(s, visitor, capture);
}

void TSL_SetStatusFromIOError(TSL_Status* s, int error_code, const char* context) {
  TF_SetStatusFromIOError(s, error_code, context);
}

TSL_Code TSL_GetCode(const TSL_Status* s) { return TF_GetCode(s); }

const char* TSL_Message(const TSL_Status* s) { return TF_Message(s); }
