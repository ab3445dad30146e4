import { Group, NativeSelect, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Element, FilmWithShots } from "../../../client/index.ts";
import {
  type ElementFields,
  useChangeElement,
  useCreateElement,
  useDeleteElement,
  useElements,
} from "../queries/element-queries.ts";
import { useChangeFilm } from "../queries/film-queries.ts";
import { Frame } from "../steps/Sources.tsx";
import { ImageField } from "../studio/ImageField.tsx";
import { NewButton } from "../ui/buttons.tsx";
import { IconPencil, IconTrash, IconX } from "../ui/icons.tsx";
import { ErrorNotice } from "../ui/notices.tsx";
import { Panel } from "../ui/page-parts.tsx";
import { ActionsMenu, DeleteWindow, FormWindow, type WindowProps } from "../ui/windows.tsx";

const KINDS = ["character", "place", "prop", "style"] as const;
/** Its images are uploads: none is a take of a project. */
const NO_PROJECT = { takes: { "first-frame": null, "last-frame": null, video: null } };

/** The elements that the shots of a film are made with. */
export function CastPanel({ film }: { film: FilmWithShots }) {
  const { elementIds } = film;
  const [isNew, setNew] = useState(false);
  const { data: elements = [], error } = useElements();
  const change = useChangeFilm(film);
  const cast = elementIds.flatMap((id) => elements.find(({ elementId }) => elementId === id) ?? []);
  const others = elements.filter(({ elementId }) => !elementIds.includes(elementId));
  return (
    <Panel
      title="Cast"
      actions={
        <NewButton px="sm" variant="default" onClick={() => setNew(true)}>
          New element
        </NewButton>
      }
    >
      <Text size="sm" c="dimmed">
        Characters, places, props and styles that return. A shot is made with the images and texts of all of them. If
        its prompt names some, as in “@Anna on the pier”, it is made with those alone.
      </Text>
      <Stack component="ul" gap="xs" my="sm" className="plain-list" aria-label="Cast">
        {cast.map((element) => (
          <CastRow
            key={element.elementId}
            film={film}
            cast={cast}
            element={element}
            onLeave={() => change.mutate({ elementIds: elementIds.filter((id) => id !== element.elementId) })}
          />
        ))}
      </Stack>
      {others.length > 0 && (
        <NativeSelect
          label="Add to the cast"
          value=""
          data={[
            { value: "", label: "Choose an element" },
            ...others.map(({ elementId, name, kind }) => ({ value: elementId, label: `${name} (${kind})` })),
          ]}
          onChange={({ currentTarget: { value } }) =>
            value !== "" && change.mutate({ elementIds: [...elementIds, value] })
          }
        />
      )}
      <ErrorNotice title="Could not change the cast" error={change.error ?? error} />
      <ElementWindow film={film} cast={cast} element={null} isOpen={isNew} onClose={() => setNew(false)} />
    </Panel>
  );
}

type RowProps = { film: FilmWithShots; cast: Element[]; element: Element; onLeave: () => void };

function CastRow({ film, cast, element, onLeave }: RowProps) {
  const { name, kind, text, imagePaths } = element;
  return (
    <Group component="li" gap="xs" wrap="nowrap">
      {imagePaths.slice(0, 1).map((path) => (
        <Frame key={path} project={NO_PROJECT} frame={path} alt={name} />
      ))}
      <div style={{ flex: 1, minWidth: 0 }}>
        <Text size="sm" truncate>
          {name}{" "}
          <Text span inherit c="dimmed">
            · {kind}
          </Text>
        </Text>
        <Text size="sm" c="dimmed" lineClamp={2} title={text}>
          {text}
        </Text>
      </div>
      <ActionsMenu
        variant="default"
        aria-label={`Actions for ${name}`}
        actions={[
          {
            label: "Edit",
            Icon: IconPencil,
            window: (opened) => <ElementWindow key={element.updatedAt} {...{ film, cast, element }} {...opened} />,
          },
          { label: "Take out of the cast", Icon: IconX, run: onLeave },
          {
            label: "Delete",
            Icon: IconTrash,
            isDelete: true,
            window: (opened) => <DeleteElement element={element} {...opened} />,
          },
        ]}
      />
    </Group>
  );
}

function DeleteElement({ element, ...opened }: WindowProps & { element: Element }) {
  const removal = useDeleteElement(element, opened.onClose);
  return (
    <DeleteWindow {...opened} noun="element" removal={removal} onDelete={() => removal.mutate()}>
      “{element.name}” will be deleted, from every film. What was made with it stays.
    </DeleteWindow>
  );
}

const NOTHING: ElementFields = { kind: "character", name: "", text: "", imagePaths: [] };

/** Asks for an element; `element` null: for a new one. */
function ElementWindow({
  film,
  cast,
  element,
  isOpen,
  onClose,
}: WindowProps & { film: FilmWithShots; cast: Element[]; element: Element | null }) {
  const [typed, setTyped] = useState<Partial<ElementFields>>({});
  const close = () => {
    setTyped({});
    onClose();
  };
  const { kind, name, text, imagePaths } = { ...(element ?? NOTHING), ...typed };
  const create = useCreateElement(film, close);
  const change = useChangeElement(element, close);
  const saving = element === null ? create : change;
  const isTaken = cast.some(
    (other) => other.elementId !== element?.elementId && other.name.toLowerCase() === name.trim().toLowerCase(),
  );
  const set = (fields: Partial<ElementFields>) => setTyped((all) => ({ ...all, ...fields }));
  return (
    <FormWindow
      title={element === null ? "New element" : "Edit element"}
      submit={element === null ? "Create element" : "Save"}
      failed="Could not save the element"
      isOpen={isOpen}
      onClose={close}
      saving={saving}
      canSubmit={name.trim() !== "" && !isTaken}
      onSubmit={() => saving.mutate({ kind, name: name.trim(), text, imagePaths })}
    >
      <TextInput
        label="Name"
        description="Write @ and this name in a prompt to use it."
        error={isTaken && "Another element of the cast has this name."}
        data-autofocus
        maxLength={60}
        value={name}
        onChange={({ currentTarget }) => set({ name: currentTarget.value })}
      />
      <NativeSelect
        label="Kind"
        data={KINDS.map((value) => ({ value, label: value.charAt(0).toUpperCase() + value.slice(1) }))}
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
    </FormWindow>
  );
}
