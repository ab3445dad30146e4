import { Card, Group, Text, Title } from "@mantine/core";
import { useInViewport } from "@mantine/hooks";
import { Link, useNavigate } from "react-router";
import type { Film } from "../../../client/index.ts";
import link from "../ui/cover-link.module.css";
import { IconMovie } from "../ui/Icons.tsx";
import { ListPage, LoadMore } from "../ui/PageParts.tsx";
import { NewButton } from "../ui/Buttons.tsx";
import { Thumb } from "../takes/Sources.tsx";
import { useLast } from "../ui/dialog-focus.ts";
import { Time } from "../ui/Time.tsx";
import { TitleDialog, useDialog } from "../ui/Dialogs.tsx";
import { counted } from "../ui/words.ts";
import { useFilm, useFilms } from "../queries/film-queries.ts";
import { useOnce } from "../queries/use-once.ts";

export default function FilmsPage() {
  const list = useFilms();
  const creating = useDialog();
  const navigate = useNavigate();
  const create = useOnce(
    (keyframe, title: string, once) => keyframe.films.create({ title }, once),
    ({ filmId }) => void navigate(`/films/${filmId}`),
  );
  return (
    <ListPage
      title="Films"
      query={list}
      what="films"
      heights={[76, 76, 76]}
      isEmpty={list.data?.length === 0}
      create={<NewButton onClick={creating.open}>New film</NewButton>}
      empty={{
        Icon: IconMovie,
        title: "No films yet",
        text: "A film is a sequence of shots. Each can start where the previous one ends.",
      }}
    >
      {list.data?.map((film) => (
        <FilmCard key={film.filmId} film={film} />
      ))}
      <LoadMore query={list} />
      <TitleDialog noun="film" {...creating.dialog} saving={create} onSubmit={create.mutate} />
    </ListPage>
  );
}

/** The number of pictures that fit beside each other on a phone. */
const PICTURES = 4;

function FilmCard({ film: { filmId, title, projectIds, createdAt } }: { film: Film }) {
  const { ref, inViewport } = useInViewport<HTMLElement>();
  const { data } = useFilm(useLast(inViewport && projectIds.length > 0 ? filmId : null), () => false);
  const pictures = data?.shots.flatMap(({ takes }) => takes["first-frame"] ?? takes["last-frame"] ?? takes.video ?? []);
  return (
    <Card component="article" ref={ref} withBorder padding="md" className={link.card}>
      <Title order={2} size="h5" lineClamp={1}>
        <Link to={`/films/${filmId}`} className={link.cover}>
          {title}
        </Link>
      </Title>
      <Text size="sm" c="dimmed">
        {counted(projectIds.length, "shot")} · <Time iso={createdAt} />
      </Text>
      {projectIds.length > 0 && (
        <Group gap="xs" mt="sm" mih={36} aria-hidden>
          {pictures?.slice(0, PICTURES).map((take) => (
            <Thumb key={take.predictionId} prediction={take} alt="" />
          ))}
        </Group>
      )}
    </Card>
  );
}
