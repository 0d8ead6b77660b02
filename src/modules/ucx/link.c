// Links, and the messages that go out and come in. A message is one active message of UCP, whose
// header is ours; UCP itself chooses how the body goes: with the header where it is small, and else
// by a rendezvous, in which the receiver's buffer is filled from the sender's (over TCP, UCX copies
// it once on the way).
//
// A link is freed when nobody needs it any more: its owner, the event that tells that it is broken,
// and UCP while it closes the endpoint. A send keeps what it needs to itself. A message that comes
// in is a receipt, which is in the list of its end until its body is there.
#include <string.h>

#include "modules/ucx/engine.h"

enum { MESSAGE_ID = 1, REASON_BYTES = 96 };

struct leat_plane_link_s {
  leat_plane_link_t* next;  // in the list of the end, as long as there is an endpoint
  leat_plane_link_t* previous;
  leat_plane_end_t* end;
  ucp_ep_h endpoint;
  uint64_t number;
  // Guarded by the end's mutex.
  int references;
  bool is_broken, is_closed, is_flushing;
  ucx_event_t lost, flushed;
  char reason[REASON_BYTES];
};

struct ucx_dispatch_s {
  ucx_dispatch_t* next;
  ucx_dispatch_t* previous;
  ucx_event_t sent;
  leat_plane_end_t* end;
  leat_rpc_piece_t body;
  char header[];
};

struct ucx_receipt_s {
  ucx_receipt_t* next;
  ucx_receipt_t* previous;
  ucx_event_t arrived;
  leat_plane_end_t* end;
  void* message;
  int code;
};

// ---- Links --------------------------------------------------------------------------------------

// The mutex is held.
static void release_link(leat_plane_link_t* link) {
  if (--link->references == 0) ucx_host->free(link);
}

static void tell_lost(ucx_event_t* event) {
  leat_plane_link_t* link = UCX_EVENT_OWNER(event, leat_plane_link_t, lost);
  leat_plane_end_t* end = link->end;
  ucx_lock(end);
  const bool tells = !link->is_closed;
  ucx_unlock(end);
  if (tells) end->owner.lost(end->owner.data, link->number, link->reason);
  ucx_lock(end);
  release_link(link);
  ucx_unlock(end);
}

// The mutex is held.
static void break_link(leat_plane_link_t* link, const char* reason) {
  if (link->is_broken || link->is_closed) return;
  link->is_broken = true;
  strncpy(link->reason, reason, REASON_BYTES - 1);
  ++link->references;
  ucx_engine_add(link->end, &link->lost, tell_lost);
  ucx_engine_wake(link->end);
}

// UCP's: the other end is gone, or cannot be reached.
static void fail_endpoint(void* data, ucp_ep_h endpoint, ucs_status_t status) {
  break_link(data, ucs_status_string(status));
}

int ucx_link_open(leat_plane_end_t* end, leat_string_view_t address, uint64_t number,
                  leat_plane_link_t** out_link) {
  leat_plane_link_t* link = ucx_host->allocate(sizeof *link);
  if (!link) return LEAT_RESOURCE_EXHAUSTED;
  *link = (leat_plane_link_t){.end = end, .number = number, .references = 2};  // owner, endpoint
  const ucp_ep_params_t params = {
      .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                    UCP_EP_PARAM_FIELD_ERR_HANDLER,
      .address = (const ucp_address_t*)address.data,
      .err_mode = UCP_ERR_HANDLING_MODE_PEER,
      .err_handler = {fail_endpoint, link}};
  ucx_lock(end);
  ucs_status_t status = UCS_ERR_CANCELED;
  if (!end->is_closing) status = ucp_ep_create(end->worker, &params, &link->endpoint);
  if (status == UCS_OK) {
    link->next = end->links;
    if (link->next) link->next->previous = link;
    end->links = link;
    ucx_engine_wake(end);
  }
  ucx_unlock(end);
  if (status != UCS_OK) {
    ucx_host->free(link);
    return status == UCS_ERR_NO_MEMORY ? LEAT_RESOURCE_EXHAUSTED : LEAT_INVALID_ARGUMENT;
  }
  *out_link = link;
  return LEAT_OK;
}

// UCP has closed the endpoint. The mutex is held.
static void endpoint_closed(void* request, ucs_status_t status, void* data) {
  leat_plane_link_t* link = data;
  leat_plane_end_t* end = link->end;
  if (link->next) link->next->previous = link->previous;
  if (link->previous) {
    link->previous->next = link->next;
  } else {
    end->links = link->next;
  }
  release_link(link);
  if (request) ucp_request_free(request);
  ucx_host->condition_notify_all(&end->changed);
}

// The mutex is held.
static void close_endpoint(leat_plane_link_t* link) {
  if (!link->endpoint) return;
  const ucp_request_param_t param = {
      .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                      UCP_OP_ATTR_FIELD_USER_DATA,
      .flags = UCP_EP_CLOSE_FLAG_FORCE,
      .cb.send = endpoint_closed,
      .user_data = link};
  const ucs_status_ptr_t request = ucp_ep_close_nbx(link->endpoint, &param);
  link->endpoint = NULL;
  if (!UCS_PTR_IS_PTR(request)) endpoint_closed(NULL, UCS_PTR_STATUS(request), link);
}

static void tell_flushed(ucx_event_t* event) {
  leat_plane_link_t* link = UCX_EVENT_OWNER(event, leat_plane_link_t, flushed);
  leat_plane_end_t* end = link->end;
  ucx_lock(end);
  close_endpoint(link);
  ucx_unlock(end);
}

// UCP's: nothing waits to be sent. The mutex is held.
static void endpoint_flushed(void* request, ucs_status_t status, void* data) {
  leat_plane_link_t* link = data;
  ucx_engine_add(link->end, &link->flushed, tell_flushed);
  if (request) ucp_request_free(request);
}

// Closes the endpoint when nothing of it waits to be sent. Closing drops what does, and UCP ends
// the process where a message of its own that makes the connection is dropped. The mutex is held.
static void flush_endpoint(leat_plane_link_t* link) {
  if (!link->endpoint || link->is_flushing) return;
  const ucp_request_param_t param = {
      .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
      .cb.send = endpoint_flushed,
      .user_data = link};
  link->is_flushing = true;
  const ucs_status_ptr_t request = ucp_ep_flush_nbx(link->endpoint, &param);
  if (!UCS_PTR_IS_PTR(request)) close_endpoint(link);
}

void ucx_link_close(leat_plane_link_t* link, bool is_proved) {
  if (!link) return;
  leat_plane_end_t* end = link->end;
  ucx_lock(end);
  link->is_closed = true;
  if (is_proved || link->is_broken) {
    close_endpoint(link);
  } else {
    flush_endpoint(link);
  }
  release_link(link);
  ucx_engine_wake(end);
  ucx_unlock(end);
}

void ucx_links_close(leat_plane_end_t* end) {
  for (leat_plane_link_t *link = end->links, *next; link; link = next) {
    next = link->next;
    flush_endpoint(link);
  }
}

// ---- Messages that go out -----------------------------------------------------------------------

static void release_body(leat_rpc_piece_t body) {
  if (body.release) body.release(body.owner);
}

static void tell_sent(ucx_event_t* event) {
  ucx_dispatch_t* dispatch = UCX_EVENT_OWNER(event, ucx_dispatch_t, sent);
  release_body(dispatch->body);
  ucx_host->free(dispatch);
}

// The mutex is held.
static void add_dispatch(ucx_dispatch_t* dispatch) {
  leat_plane_end_t* end = dispatch->end;
  dispatch->previous = NULL;
  dispatch->next = end->dispatches;
  if (dispatch->next) dispatch->next->previous = dispatch;
  end->dispatches = dispatch;
}

static void end_dispatch(ucx_dispatch_t* dispatch) {
  leat_plane_end_t* end = dispatch->end;
  if (dispatch->next) dispatch->next->previous = dispatch->previous;
  if (dispatch->previous) {
    dispatch->previous->next = dispatch->next;
  } else {
    end->dispatches = dispatch->next;
  }
  ucx_engine_add(end, &dispatch->sent, tell_sent);
}

// UCP's: nothing reads the body any more. That it could not be sent, the endpoint's error tells.
// The mutex is held.
static void dispatched(void* request, ucs_status_t status, void* data) {
  end_dispatch(data);
  ucp_request_free(request);
}

void ucx_send(leat_plane_link_t* link, leat_string_view_t header, leat_rpc_piece_t body) {
  leat_plane_end_t* end = link->end;
  ucx_dispatch_t* dispatch = ucx_host->allocate(sizeof *dispatch + header.size);
  ucs_status_ptr_t request = UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);
  ucx_lock(end);
  if (dispatch && !link->is_broken && link->endpoint) {
    dispatch->end = end;
    dispatch->body = body;
    memcpy(dispatch->header, header.data, header.size);
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = dispatched,
        .user_data = dispatch};
    request = ucp_am_send_nbx(link->endpoint, MESSAGE_ID, dispatch->header, header.size, body.data,
                              body.size, &param);
  }
  const bool is_under_way = UCS_PTR_IS_PTR(request);
  if (UCS_PTR_IS_ERR(request)) break_link(link, ucs_status_string(UCS_PTR_STATUS(request)));
  if (is_under_way) {
    add_dispatch(dispatch);
    ucx_engine_wake(end);
  }
  ucx_unlock(end);
  if (is_under_way) return;
  release_body(body);
  ucx_host->free(dispatch);
}

void ucx_dispatches_end(leat_plane_end_t* end) {
  while (end->dispatches) end_dispatch(end->dispatches);
}

// ---- Messages that come in ----------------------------------------------------------------------

static void tell_arrived(ucx_event_t* event) {
  ucx_receipt_t* receipt = UCX_EVENT_OWNER(event, ucx_receipt_t, arrived);
  const leat_plane_owner_t* owner = &receipt->end->owner;
  owner->end(owner->data, receipt->message, receipt->code);
  ucx_host->free(receipt);
}

static void end_receipt(ucx_receipt_t* receipt, int code) {
  leat_plane_end_t* end = receipt->end;
  if (receipt->next) receipt->next->previous = receipt->previous;
  if (receipt->previous) {
    receipt->previous->next = receipt->next;
  } else {
    end->receipts = receipt->next;
  }
  receipt->code = code;
  ucx_engine_add(end, &receipt->arrived, tell_arrived);
}

static int code_of(ucs_status_t status) {
  return status == UCS_OK ? LEAT_OK
                          : (status == UCS_ERR_CANCELED ? LEAT_CANCELLED : LEAT_UNAVAILABLE);
}

// UCP's: the body has come by a rendezvous, or the sender has gone.
static void body_arrived(void* request, ucs_status_t status, size_t size, void* data) {
  end_receipt(data, code_of(status));
  ucp_request_free(request);
}

// UCP's: a message begins. Without memory for it whoever waits for it must hear of that, and who
// that is only the owner could say: all links are given up.
static ucs_status_t message_begins(void* data, const void* header, size_t header_size, void* body,
                                   size_t body_size, const ucp_am_recv_param_t* param) {
  leat_plane_end_t* end = data;
  ucx_receipt_t* receipt = ucx_host->allocate(sizeof *receipt);
  char* place = NULL;
  if (!receipt) {
    for (leat_plane_link_t* link = end->links; link; link = link->next) {
      break_link(link, "there is no memory for a message");
    }
    return UCS_OK;
  }
  receipt->message = end->owner.begin(end->owner.data, header, header_size, body_size, &place);
  if (!receipt->message) {
    ucx_host->free(receipt);
    return UCS_OK;
  }
  receipt->end = end;
  receipt->next = end->receipts;
  if (receipt->next) receipt->next->previous = receipt;
  end->receipts = receipt;
  if (body_size && !place) {
    end_receipt(receipt, LEAT_RESOURCE_EXHAUSTED);
    return UCS_OK;
  }
  if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
    if (body_size) memcpy(place, body, body_size);
    end_receipt(receipt, LEAT_OK);
    return UCS_OK;
  }
  const ucp_request_param_t receive = {
      .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                      UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
      .cb.recv_am = body_arrived,
      .user_data = receipt};
  const ucs_status_ptr_t request =
      ucp_am_recv_data_nbx(end->worker, body, place, body_size, &receive);
  if (!UCS_PTR_IS_PTR(request)) end_receipt(receipt, code_of(UCS_PTR_STATUS(request)));
  return UCS_INPROGRESS;
}

bool ucx_receipts_begin(leat_plane_end_t* end) {
  const ucp_am_handler_param_t param = {
      .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                    UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
      .id = MESSAGE_ID,
      .flags = UCP_AM_FLAG_WHOLE_MSG,
      .cb = message_begins,
      .arg = end};
  return ucp_worker_set_am_recv_handler(end->worker, &param) == UCS_OK;
}

void ucx_receipts_end(leat_plane_end_t* end) {
  while (end->receipts) end_receipt(end->receipts, LEAT_CANCELLED);
}
