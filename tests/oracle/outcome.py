"""What an oracle script prints of each comparison: `name: ok` or `name: FAIL why`."""


def report(name, compare, *arguments):
  """|compare| returns what differs, or nothing."""
  try:
    why = compare(*arguments)
  except Exception as error:  # one case must not hide the others
    why = '%s: %s' % (type(error).__name__, ' '.join(str(error).split())[:300])
  print('%s: %s' % (name, 'FAIL ' + why if why else 'ok'), flush=True)
