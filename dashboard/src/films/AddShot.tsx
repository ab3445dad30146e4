import { Radio, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { Film } from "../../../client/index.ts";
import { useDeleted } from "../queries/delete-later.ts";
import { useFilmChoice } from "../queries/film-queries.ts";
import { useChangeProject } from "../queries/project-queries.ts";
import { queryKeys } from "../queries/query-keys.ts";
import { useKeyframe } from "../services.ts";
import { type DialogProps, FormDialog, useTyped } from "../ui/Dialogs.tsx";

/** The number of shots that fit into the dialog. A search finds the others. */
const MAX_SHOWN = 8;

export function AddShot({ film, ...opened }: DialogProps & { film: Film }) {
  const keyframe = useKeyframe();
  const [{ typed, chosen }, set, dialog] = useTyped({ typed: "", chosen: "" }, opened);
  const [search] = useDebouncedValue(typed.trim(), 250);
  const { data, error } = useQuery({
    queryKey: queryKeys.projectsToAdd(search),
    queryFn: ({ signal }) => keyframe.projects.list({ search: search || undefined, limit: 50 }, { signal }),
    enabled: dialog.isOpen,
    placeholderData: keepPreviousData,
  });
  const deleted = useDeleted();
  const change = useChangeProject(chosen);
  const offered = data?.projects
    .filter(({ filmId, projectId }) => filmId !== film.filmId && !deleted.has(projectId))
    .slice(0, MAX_SHOWN);
  const { data: films } = useFilmChoice(offered?.some(({ filmId }) => filmId !== null) ?? false);
  const filmName = (id: string) => {
    const other = films?.find(({ filmId }) => filmId === id);
    return other ? `“${other.title}”` : "another film";
  };
  return (
    <FormDialog
      title="Add an existing shot"
      submit="Add as last shot"
      failed="Could not add the shot"
      {...dialog}
      saving={{ ...change, error: change.error ?? error }}
      canSubmit={chosen !== ""}
      onSubmit={() => change.mutate({ change: { filmId: film.filmId } }, { onSuccess: dialog.onClose })}
    >
      <TextInput
        type="search"
        label="Search by title"
        data-autofocus
        maxLength={200}
        value={typed}
        onChange={({ currentTarget }) => set({ typed: currentTarget.value })}
      />
      <Radio.Group label="Shot" value={chosen} onChange={(value) => set({ chosen: value })}>
        <Stack gap="xs" mt="xs">
          {offered?.map(({ projectId, title, filmId }) => (
            <Radio
              key={projectId}
              value={projectId}
              label={title}
              description={filmId === null ? undefined : `It moves here from ${filmName(filmId)}.`}
            />
          ))}
        </Stack>
      </Radio.Group>
      {offered?.length === 0 && <Text size="sm">No shot found.</Text>}
    </FormDialog>
  );
}
