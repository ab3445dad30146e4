import { NativeSelect, Textarea, TextInput } from "@mantine/core";
import type { Element, Film } from "../../../client/index.ts";
import { type ElementFields, useSaveElement } from "../queries/element-queries.ts";
import { ImageField } from "../step-settings/ImageField.tsx";
import { type DialogProps, FormDialog, useTyped } from "../ui/Dialogs.tsx";
import { capitalized } from "../ui/words.ts";

const KINDS = ["character", "place", "prop", "style"] as const;
/** The images of an element are uploads, not takes of a project. */
export const NO_PROJECT = { takes: { "first-frame": null, "last-frame": null, video: null } };

const NOTHING: ElementFields = { kind: "character", name: "", text: "", imagePaths: [] };

type Props = DialogProps & {
  /** Null creates an element. */
  element: Element | null;
  /** The element's name must be unique among these. */
  beside: Element[];
  /** The film whose cast the new element joins. */
  film?: Film;
};

export function ElementDialog({ film, beside, element, ...opened }: Props) {
  const [typed, set, dialog] = useTyped<Partial<ElementFields>>({}, opened);
  const { kind, name, text, imagePaths } = { ...(element ?? NOTHING), ...typed };
  const saving = useSaveElement(element, film ?? null, dialog.onClose);
  const isNameUsed = beside.some(
    (other) => other.elementId !== element?.elementId && other.name.toLowerCase() === name.trim().toLowerCase(),
  );
  return (
    <FormDialog
      title={element === null ? "New element" : "Edit element"}
      submit={element === null ? "Create element" : "Save"}
      failed="Could not save the element"
      {...dialog}
      saving={saving}
      canSubmit={name.trim() !== "" && !isNameUsed}
      onSubmit={() => saving.mutate({ kind, name: name.trim(), text, imagePaths })}
    >
      <TextInput
        label="Name"
        description="Write @ and this name in a prompt to use it."
        error={isNameUsed && "Another element has this name."}
        data-autofocus
        maxLength={60}
        value={name}
        onChange={({ currentTarget }) => set({ name: currentTarget.value })}
      />
      <NativeSelect
        label="Kind"
        data={KINDS.map((value) => ({ value, label: capitalized(value) }))}
        value={kind}
        onChange={({ currentTarget: { value } }) => set({ kind: KINDS.find((one) => one === value) ?? kind })}
      />
      <Textarea
        label="Text"
        description="What it looks like. It is added to the prompt."
        autosize
        minRows={2}
        maxLength={1000}
        value={text}
        onChange={({ currentTarget }) => set({ text: currentTarget.value })}
      />
      <ImageField
        project={NO_PROJECT}
        label="Images"
        noun="image"
        addLabel="Add image"
        images={imagePaths}
        max={8}
        onChange={(paths) => set({ imagePaths: paths })}
      />
    </FormDialog>
  );
}
