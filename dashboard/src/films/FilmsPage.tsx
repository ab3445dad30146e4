import { Card, Group, Stack, Text, Title } from "@mantine/core";
import { useDisclosure, useInViewport } from "@mantine/hooks";
import { Link, useNavigate } from "react-router";
import type { Film } from "../../../client/index.ts";
import link from "../ui/cover-link.module.css";
import { IconMovie } from "../ui/icons.tsx";
import { LoadMore, EmptyState, PageHead, Unread } from "../ui/page-parts.tsx";
import { NewButton } from "../ui/buttons.tsx";
import { Thumb } from "../steps/Sources.tsx";
import { useLast } from "../ui/window-focus.ts";
import { Time } from "../ui/Time.tsx";
import { TitleWindow } from "../ui/windows.tsx";
import { useCreateFilm, useFilm, useFilms } from "../queries/film-queries.ts";

export function Component() {
  const list = useFilms();
  const [isNew, { open, close }] = useDisclosure(false);
  const navigate = useNavigate();
  const creating = useCreateFilm(({ filmId }) => void navigate(`/films/${filmId}`));
  const films = list.data?.pages.flatMap((page) => page.films);
  const isNone = films?.length === 0;
  const create = <NewButton onClick={open}>New film</NewButton>;
  return (
    <>
      <PageHead title="Films" actions={isNone || list.isPending ? null : create} />
      <Stack gap="md">
        <Unread query={list} what="films" heights={[76, 76, 76]} />
        {isNone && (
          <EmptyState
            Icon={IconMovie}
            title="No films yet"
            text="A film is a sequence of shots. Each shot is a project, and can start on the last frame of the previous one."
            action={create}
          />
        )}
        {films?.map((film) => (
          <FilmCard key={film.filmId} film={film} />
        ))}
        <LoadMore of={list} />
      </Stack>
      <TitleWindow noun="film" isOpen={isNew} onClose={close} saving={creating} onSubmit={creating.mutate} />
    </>
  );
}

/** So many fit beside each other on a phone. */
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
        {projectIds.length === 1 ? "1 shot" : `${projectIds.length} shots`} · <Time iso={createdAt} />
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
