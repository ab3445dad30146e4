import { useNavigate } from "react-router";
import type { Film, FilmWithShots, KeyframeClient } from "../../../client/index.ts";
import { copyOf, copyTitle, createShot, useDuplicate } from "../projects/create-shot.ts";
import { useDeleteLater } from "../queries/delete-later.ts";
import { useChangeFilm } from "../queries/film-queries.ts";
import { IconCopy, IconPlus, IconSend } from "../ui/Icons.tsx";
import { ActionsMenu, deletion, renaming } from "../ui/ActionsMenu.tsx";
import { DeleteDialog } from "../ui/Dialogs.tsx";
import { ShareFilm } from "./ShareFilm.tsx";

/** Copies a film, its cast, and the shown shots with their plans. Takes are not copied. */
async function copyFilm(keyframe: KeyframeClient, { filmId, projectIds }: FilmWithShots, key: string): Promise<Film> {
  const { title, description, elementIds, shots, updatedAt } = await keyframe.films.read(filmId);
  const fields = { title: copyTitle(title), description, elementIds };
  const copy = await keyframe.films.create(fields, { idempotencyKey: key + updatedAt });
  for (const [at, shot] of shots.filter(({ projectId }) => projectIds.includes(projectId)).entries()) {
    const { referenceImagePath } = shot;
    const once = { idempotencyKey: `${key}-${at}` };
    await createShot(keyframe, { ...copyOf(shot), filmId: copy.filmId }, once, { referenceImagePath });
  }
  return copy;
}

export function FilmMenu({ film, onAdd }: { film: FilmWithShots; onAdd: () => void }) {
  const { filmId: id, title } = film;
  const navigate = useNavigate();
  const change = useChangeFilm(film);
  const duplicate = useDuplicate(
    id,
    title,
    (keyframe, _, { idempotencyKey }) => copyFilm(keyframe, film, idempotencyKey),
    ({ filmId }) => void navigate(`/films/${filmId}`),
  );
  const removal = useDeleteLater({ id, title, remove: (last) => last.films.delete(id) }, () => void navigate("/films"));
  return (
    <ActionsMenu
      variant="default"
      size="lg"
      aria-label="Actions for the film"
      actions={[
        { label: "Add an existing shot", Icon: IconPlus, run: onAdd },
        { label: "Share", Icon: IconSend, dialog: (opened) => <ShareFilm {...opened} film={film} /> },
        renaming("film", title, change, (typed, onDone) => change.mutate({ title: typed }, onDone)),
        { label: "Duplicate", Icon: IconCopy, run: duplicate },
        deletion((opened) => (
          <DeleteDialog {...opened} noun="film" removal={removal}>
            “{title}” will be deleted. Its shots are kept as projects. You can undo it for ten seconds.
          </DeleteDialog>
        )),
      ]}
    />
  );
}
