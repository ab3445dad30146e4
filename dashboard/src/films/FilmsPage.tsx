import {
  Button,
  Card,
  Center,
  Group,
  Modal,
  Skeleton,
  Stack,
  Text,
  TextInput,
  Title,
  VisuallyHidden,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconMovie, IconPlus } from "@tabler/icons-react";
import { type FormEvent, useState } from "react";
import { Link, useNavigate } from "react-router";
import type { Film } from "../../../client/index.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import link from "../ui/cover-link.module.css";
import { ErrorNotice } from "../ui/messages.tsx";
import { EmptyState, PageHead } from "../ui/page-parts.tsx";
import { Time } from "../ui/Time.tsx";
import { useCreateFilm, useFilms } from "./film-queries.ts";

export function Component() {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useFilms();
  const [isNew, { open, close }] = useDisclosure(false);
  const films = data?.pages.flatMap((page) => page.films);
  const isNone = films?.length === 0;
  const create = (
    <Button leftSection={<IconPlus size={18} aria-hidden />} onClick={open}>
      New film
    </Button>
  );
  return (
    <>
      <PageHead title="Films" actions={isNone ? null : create} />
      <Stack gap="md">
        {error !== null && <ErrorNotice title="Could not load films" error={error} onRetry={() => void refetch()} />}
        {films === undefined && error === null && (
          <>
            <VisuallyHidden role="status">Loading films</VisuallyHidden>
            {[1, 2, 3].map((key) => (
              <Skeleton key={key} h={FILM_HEIGHT} />
            ))}
          </>
        )}
        {isNone && (
          <EmptyState
            Icon={IconMovie}
            title="No films yet"
            text="A film is ordered shots. Each shot is a project, and can start on the last frame of the one before."
            action={create}
          />
        )}
        {films?.map((film) => (
          <FilmCard key={film.filmId} film={film} />
        ))}
        {hasNextPage && (
          <Center>
            <BusyButton variant="default" isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              Load more
            </BusyButton>
          </Center>
        )}
      </Stack>
      <NewFilm isOpen={isNew} onClose={close} />
    </>
  );
}

/** A card's height, so that nothing jumps. */
const FILM_HEIGHT = 76;

function FilmCard({ film: { filmId, title, projectIds, createdAt } }: { film: Film }) {
  return (
    <Card component="article" withBorder padding="md" pos="relative">
      <Title order={2} size="h5" lineClamp={1}>
        <Link to={`/films/${filmId}`} className={link.cover}>
          {title}
        </Link>
      </Title>
      <Text size="sm" c="dimmed">
        {projectIds.length === 1 ? "1 shot" : `${projectIds.length} shots`} · <Time iso={createdAt} />
      </Text>
    </Card>
  );
}

function NewFilm({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const navigate = useNavigate();
  const [title, setTitle] = useState("");
  const create = useCreateFilm(({ filmId }) => void navigate(`/films/${filmId}`));
  const close = () => {
    create.reset();
    setTitle("");
    onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (title.trim() !== "") create.mutate(title);
  };
  return (
    <Modal opened={isOpen} onClose={close} title="New film">
      <form noValidate onSubmit={submit}>
        <Stack>
          <TextInput
            label="Title"
            data-autofocus
            maxLength={200}
            value={title}
            onChange={({ currentTarget }) => setTitle(currentTarget.value)}
          />
          {create.error !== null && <ErrorNotice title="Could not create the film" error={create.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <BusyButton type="submit" isBusy={create.isPending} isOff={title.trim() === ""}>
              Create film
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
