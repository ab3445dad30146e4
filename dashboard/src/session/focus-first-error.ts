type Fields = { getInputNode: (path: string) => HTMLElement | null };

/** For the second argument of a form's onSubmit: whoever cannot see the red field is put into it. */
export const focusFirstError =
  (form: Fields) =>
  (errors: Record<string, unknown>): void =>
    form.getInputNode(Object.keys(errors)[0] ?? "")?.focus();
