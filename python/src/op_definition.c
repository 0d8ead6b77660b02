/* Definitions of ops as tuples: what the wrappers of ops are made of while the program runs, so
 * that ops of plugins and functions of a graph are called as those of the library are.
 *
 *   (inputs, outputs, attributes, stateful, summary, deprecation)
 *   input, output: (name, type, type_attr, number_attr, type_list_attr, is_ref)
 *   attribute: (name, type, default or None, minimum or None, allowed or None)
 *
 * A default is (kind, value) as attribute.c has them, allowed a list of DataTypes or of bytes. The
 * library gives a definition as an OpDef message, which is read field by field here, so that the
 * package needs no decoder. Texts that are not UTF-8 are read with replacement characters, because
 * a plugin's documentation must not keep its ops from being called. */
#include "module.h"

static PyObject* text_of(leat_message_view_t view, const char* field) {
  size_t size;
  const char* text = leat_message_string(view, field, 0, &size);
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
}

static PyObject* arguments_of(leat_message_view_t definition, const char* field) {
  size_t count = leat_message_count(definition, field);
  PyObject* list = PyList_New(0);
  for (size_t i = 0; list && i < count; ++i) {
    leat_message_view_t argument = leat_message_child(definition, field, i);
    PyObject* item = Py_BuildValue(
        "(NLNNNO)", text_of(argument, "name"), (long long)leat_message_integer(argument, "type", 0),
        text_of(argument, "type_attr"), text_of(argument, "number_attr"),
        text_of(argument, "type_list_attr"),
        leat_message_integer(argument, "is_ref", 0) ? Py_True : Py_False);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject* shape_of(leat_message_view_t shape) {
  if (leat_message_integer(shape, "unknown_rank", 0)) Py_RETURN_NONE;
  Py_ssize_t rank = (Py_ssize_t)leat_message_count(shape, "dim");
  PyObject* dims = PyTuple_New(rank);
  for (Py_ssize_t i = 0; dims && i < rank; ++i) {
    PyObject* size = PyLong_FromLongLong(
        leat_message_integer(leat_message_child(shape, "dim", (size_t)i), "size", 0));
    if (!size) Py_CLEAR(dims);
    else PyTuple_SetItem(dims, i, size);
  }
  return dims;
}

static PyObject* item_of(leat_message_view_t view, const char* field, size_t i) {
  size_t size;
  const char* text;
  switch (field[0]) {
    case 's':
      if (field[1] == 'h') return shape_of(leat_message_child(view, field, i));
      text = leat_message_string(view, field, i, &size);
      return PyBytes_FromStringAndSize(text, (Py_ssize_t)size);
    case 'f': return PyFloat_FromDouble(leat_message_real(view, field, i));
    case 'b': return PyBool_FromLong(leat_message_integer(view, field, i) != 0);
    default: return PyLong_FromLongLong(leat_message_integer(view, field, i));
  }
}

static PyObject* list_of(leat_message_view_t view, const char* field) {
  size_t count = leat_message_count(view, field);
  PyObject* list = PyList_New(0);
  for (size_t i = 0; list && i < count; ++i) {
    PyObject* item = item_of(view, field, i);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

/* The fields of AttrValue and of its lists, with the kinds of attribute.c. */
static const char* const kFields[][2] = {{"s", "s"}, {"i", "i"}, {"f", "f"},
                                         {"b", "b"}, {"type", "t"}, {"shape", "h"}};

/* |type| is the attribute's, as "list(int)": an empty list does not say what it is a list of. */
static PyObject* default_of(leat_message_view_t value, const char* type) {
  if (leat_message_count(value, "list")) {
    leat_message_view_t list = leat_message_child(value, "list", 0);
    for (size_t i = 0; i < 6; ++i) {
      const char* field = kFields[i][0];
      char wanted = field[0] == 's' && field[1] != 'h' ? 's' : field[0];
      const char* element = strncmp(type, "list(", 5) == 0 ? type + 5 : "";
      int is_shape = strncmp(element, "shape", 5) == 0;
      if (element[0] != wanted || is_shape != (field[1] == 'h')) continue;
      char kind[3] = {'l', kFields[i][1][0], 0};
      return Py_BuildValue("(sN)", kind, list_of(list, field));
    }
    Py_RETURN_NONE;
  }
  for (size_t i = 0; i < 6; ++i) {
    if (leat_message_count(value, kFields[i][0])) {
      return Py_BuildValue("(sN)", kFields[i][1], item_of(value, kFields[i][0], 0));
    }
  }
  if (leat_message_count(value, "tensor")) {
    TF_Status* status = TF_NewStatus();
    TF_Buffer* text =
        status ? leat_message_view_to_text(leat_message_child(value, "tensor", 0), status) : NULL;
    if (!leat_py_status_end(status)) return NULL;
    return Py_BuildValue("(sN)", "V", leat_py_buffer_take(text));
  }
  Py_RETURN_NONE;
}

static PyObject* attributes_of(leat_message_view_t definition) {
  size_t count = leat_message_count(definition, "attr");
  PyObject* list = PyList_New(0);
  for (size_t i = 0; list && i < count; ++i) {
    leat_message_view_t attribute = leat_message_child(definition, "attr", i);
    PyObject* type = text_of(attribute, "type");
    const char* type_text = type ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
    if (!type_text) {
      Py_XDECREF(type);
      Py_CLEAR(list);
      break;
    }
    PyObject* initial = Py_NewRef(Py_None);
    if (leat_message_count(attribute, "default_value")) {
      Py_DECREF(initial);
      initial = default_of(leat_message_child(attribute, "default_value", 0), type_text);
    }
    PyObject* minimum = leat_message_integer(attribute, "has_minimum", 0)
                            ? PyLong_FromLongLong(leat_message_integer(attribute, "minimum", 0))
                            : Py_NewRef(Py_None);
    PyObject* allowed = Py_NewRef(Py_None);
    if (leat_message_count(attribute, "allowed_values")) {
      leat_message_view_t values =
          leat_message_child(leat_message_child(attribute, "allowed_values", 0), "list", 0);
      Py_DECREF(allowed);
      allowed = list_of(values, leat_message_count(values, "type") ? "type" : "s");
    }
    PyObject* item = initial && minimum && allowed
                         ? Py_BuildValue("(NONNN)", text_of(attribute, "name"), type, initial,
                                         minimum, allowed)
                         : NULL;
    Py_DECREF(type);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

PyObject* leat_py_op_definition(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8AndSize(name, NULL);
  if (!text) return NULL;
  TF_Status* status = TF_NewStatus();
  TF_Buffer* bytes = TF_NewBuffer();
  leat_message_t* message = NULL;
  if (status && bytes) {
    TF_GraphGetOpDef(((leat_py_graph_t*)self)->graph, text, bytes, status);
    if (TF_GetCode(status) == TF_OK) message = leat_message_open("OpDef", bytes, status);
  }
  PyObject* result = NULL;
  if (leat_py_status_end(status) && message) {
    leat_message_view_t definition = leat_message_view(message);
    leat_message_view_t deprecation = leat_message_child(definition, "deprecation", 0);
    result = Py_BuildValue(
        "(NNNONN)", arguments_of(definition, "input_arg"), arguments_of(definition, "output_arg"),
        attributes_of(definition),
        leat_message_integer(definition, "is_stateful", 0) ? Py_True : Py_False,
        text_of(definition, "summary"), text_of(deprecation, "explanation"));
  }
  leat_message_close(message);
  TF_DeleteBuffer(bytes);
  return result;
}
