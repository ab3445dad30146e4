import { Card, Container, Stack, Text, UnstyledButton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useParams } from "react-router";
import type { SharedFilm } from "../../../client/index.ts";
import { queryKeys } from "../queries/query-keys.ts";
import { useKeyframe } from "../services.ts";
import { Brand } from "../ui/Brand.tsx";
import link from "../ui/cover-link.module.css";
import { isGone } from "../ui/errors.ts";
import { IconMapSearch, IconMovie } from "../ui/Icons.tsx";
import { EmptyState, PageHead, Unread } from "../ui/PageParts.tsx";
import { FilmPlayer, useFilmPlayer } from "./FilmPlayer.tsx";

/** A film by its link, for people without an account. */
export default function SharedFilmPage() {
  const { token = "" } = useParams();
  const keyframe = useKeyframe();
  const film = useQuery({
    queryKey: queryKeys.sharedFilm(token),
    queryFn: ({ signal }) => keyframe.films.readShared(token, { signal }),
  });
  if (isGone(film.error)) {
    const text = "The link is incomplete, has expired, or was revoked. Ask the person who sent it for a new one.";
    return (
      <Frame>
        <EmptyState order={1} Icon={IconMapSearch} title="This link does not work" text={text} />
      </Frame>
    );
  }
  return (
    <Frame>
      {film.data === undefined ? (
        <Unread query={film} what="the film" heights={[240]} />
      ) : (
        <SharedFilmView film={film.data} />
      )}
    </Frame>
  );
}

const Frame = ({ children }: { children: ReactNode }) => (
  <Container component="main" size="md" py="lg">
    <Stack>
      <Brand />
      {children}
    </Stack>
  </Container>
);

function SharedFilmView({ film: { title, shots } }: { film: SharedFilm }) {
  const videos = shots.flatMap(({ title, video }, at) =>
    // The address without the signature names the file.
    video ? [{ id: String(at), title, number: at + 1, output: { ...video, path: new URL(video.url).pathname } }] : [],
  );
  const player = useFilmPlayer(videos);
  return (
    <>
      <PageHead title={title} />
      {videos.length === 0 && <EmptyState Icon={IconMovie} title="No video yet" text="Come back later." />}
      <FilmPlayer player={player} count={shots.length} />
      <Stack component="ol" gap="xs" className="plain-list" aria-label="Shots">
        {shots.map((shot, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a shot has no other name here
          <Card component="li" key={at} withBorder padding="sm" className={link.card}>
            {shot.video ? (
              <UnstyledButton className={link.cover} onClick={() => player.play(String(at))}>
                {at + 1}. {shot.title}
              </UnstyledButton>
            ) : (
              <Text c="dimmed" style={{ overflowWrap: "anywhere" }}>
                {at + 1}. {shot.title} · No video yet
              </Text>
            )}
          </Card>
        ))}
      </Stack>
    </>
  );
}
