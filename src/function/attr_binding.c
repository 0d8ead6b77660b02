// A placeholder is replaced by the call's value as a whole. A function as a value has attributes of
// its own, each of which may be a placeholder, so it is copied with its attributes bound one by
// one.
#include "function/attr_binding.h"

static leat_status_t bind_function(const leat_function_name_t* function, leat_arena_t* arena,
                                   const leat_function_name_t* inner,
                                   leat_function_name_t* out_bound) {
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (size_t)inner->attr_count + 1,
                                                 sizeof(leat_attr_t), &memory));
  leat_attr_t* attrs = memory;
  for (int i = 0; i < inner->attr_count; ++i) {
    attrs[i] = inner->attrs[i];
    LEAT_RETURN_IF_ERROR(leat_attr_bind(function, arena, &attrs[i].value));
  }
  *out_bound = (leat_function_name_t){inner->name, attrs, inner->attr_count};
  return leat_ok_status();
}

leat_status_t leat_attr_bind(const leat_function_name_t* function, leat_arena_t* arena,
                             leat_attr_value_t* value) {
  if (value->kind == LEAT_ATTR_PLACEHOLDER) {
    const leat_attr_value_t* given =
        leat_attr_find(function->attrs, function->attr_count, value->s);
    if (!given) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Calling function '%.*s' failed: attribute '%.*s' is not given",
                              LEAT_SV_ARG(function->name), LEAT_SV_ARG(value->s));
    }
    *value = *given;
    return leat_ok_status();
  }
  if (value->kind != LEAT_ATTR_FUNCTION) return leat_ok_status();
  uint32_t count = value->is_list ? value->count : 1;
  const leat_function_name_t* inner = value->is_list ? value->functions : value->function;
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (size_t)count + 1,
                                                 sizeof(leat_function_name_t), &memory));
  leat_function_name_t* bound = memory;
  for (uint32_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(bind_function(function, arena, &inner[i], &bound[i]));
  }
  if (value->is_list) {
    value->functions = bound;
  } else {
    value->function = bound;
  }
  return leat_ok_status();
}

leat_status_t leat_function_order_attrs(const leat_op_t* op, const leat_function_name_t* function,
                                        leat_arena_t* arena, leat_attr_t** out_attrs) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)op->attr_count + 1, out_attrs));
  for (int i = 0; i < op->attr_count; ++i) {
    const leat_attr_value_t* value =
        leat_attr_find(function->attrs, function->attr_count, op->attrs[i].name);
    leat_status_t status =
        value ? leat_op_attr_check(&op->attrs[i], value)
              : leat_make_status(LEAT_INVALID_ARGUMENT, "attribute '%.*s' is not given",
                                 LEAT_SV_ARG(op->attrs[i].name));
    if (status) {
      return leat_status_annotate(status, "Calling function '%.*s' failed",
                                  LEAT_SV_ARG(function->name));
    }
    (*out_attrs)[i] = (leat_attr_t){op->attrs[i].name, *value};
  }
  return leat_ok_status();
}
