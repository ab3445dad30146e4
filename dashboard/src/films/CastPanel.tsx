import { NativeSelect, Stack, Text } from "@mantine/core";
import type { FilmWithShots } from "../../../client/index.ts";
import { ElementRow } from "../elements/ElementRow.tsx";
import { ElementDialog } from "../elements/ElementDialog.tsx";
import { useElements } from "../queries/element-queries.ts";
import { useChangeFilm } from "../queries/film-queries.ts";
import { NewButton } from "../ui/Buttons.tsx";
import { IconX } from "../ui/Icons.tsx";
import { ErrorNotice } from "../ui/Notices.tsx";
import { Panel } from "../ui/PageParts.tsx";
import { useDialog } from "../ui/Dialogs.tsx";

export function CastPanel({ film }: { film: FilmWithShots }) {
  const { elementIds } = film;
  const creating = useDialog();
  const { data: elements = [], error } = useElements();
  const change = useChangeFilm(film);
  const cast = elementIds.flatMap((id) => elements.find(({ elementId }) => elementId === id) ?? []);
  const others = elements.filter(({ elementId }) => !elementIds.includes(elementId));
  return (
    <Panel
      title="Cast"
      actions={
        <NewButton px="sm" variant="default" onClick={creating.open}>
          New element
        </NewButton>
      }
    >
      <Text size="sm" c="dimmed">
        Characters, places, props and styles your shots share. A shot uses all of them unless its prompt mentions some,
        as in “@Anna on the pier”; then it uses only those.
      </Text>
      <Stack component="ul" gap="xs" my="sm" className="plain-list" aria-label="Cast">
        {cast.map((element) => (
          <li key={element.elementId}>
            <ElementRow
              element={element}
              beside={cast}
              actions={[
                {
                  label: "Remove from the cast",
                  Icon: IconX,
                  run: () => change.mutate({ elementIds: elementIds.filter((id) => id !== element.elementId) }),
                },
              ]}
            />
          </li>
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
      <ElementDialog film={film} beside={cast} element={null} {...creating.dialog} />
    </Panel>
  );
}
