import { Button, Center, Loader, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useSearchParams } from "react-router";
import type { ListedProject, ProjectPage } from "../../../client/index.ts";
import { useDeleted } from "../queries/delete-later.ts";
import { useFilmChoice } from "../queries/film-queries.ts";
import { runningOf } from "../queries/project-queries.ts";
import { PAGED } from "../queries/query-client.ts";
import { queryKeys } from "../queries/query-keys.ts";
import { useKeyframe } from "../services.ts";
import { NewButton } from "../ui/Buttons.tsx";
import { IconMovie, IconSearch } from "../ui/Icons.tsx";
import { EmptyState, LoadMore, PageHead, Unread } from "../ui/PageParts.tsx";
import { useDialog } from "../ui/Dialogs.tsx";
import { NewProject } from "./NewProject.tsx";
import { ProjectCard } from "./ProjectCard.tsx";
import classes from "./projects.module.css";

/** The height of a card, so that nothing jumps when the cards load. */
const CARD_HEIGHT = 400;

export default function ProjectsPage() {
  const { typed, setTyped, search } = useSearch();
  const { list, projects, isNothing, isSearching } = useProjects(search);
  const creating = useDialog();
  const isNone = isNothing && search === "";
  const create = <NewButton onClick={creating.open}>New project</NewButton>;
  return (
    <>
      {/* The button waits for the list: an empty list moves the button, and a press under way would be lost. */}
      <PageHead title="Projects" actions={isNone || list.isPending ? null : create} />
      <Stack gap="lg">
        {!isNone && (
          <TextInput
            type="search"
            aria-label="Search projects"
            placeholder="Search by title"
            maw={320}
            maxLength={200}
            leftSection={<IconSearch size={16} />}
            value={typed}
            onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        )}
        <Unread query={list} what="projects" heights={Array(6).fill(CARD_HEIGHT)} className={classes.grid} />
        {isSearching && (
          <Center role="status" py="xl">
            <Loader size={20} mr="sm" aria-hidden />
            <Text c="dimmed">Searching older projects…</Text>
          </Center>
        )}
        {isNothing && search !== "" && !isSearching && (
          <NothingFound search={search} hasMore={list.hasNextPage} onShowAll={() => setTyped("")} />
        )}
        {isNone && (
          <EmptyState
            Icon={IconMovie}
            title="No projects yet"
            text="Describe a scene, and Keyframe generates its first frame, its last frame and the video between them."
            action={create}
          />
        )}
        {projects !== undefined && projects.length > 0 && <Cards projects={projects} />}
        {!isSearching && <LoadMore query={list} label={isNothing ? "Keep searching" : "Load more"} />}
      </Stack>
      <NewProject {...creating.dialog} />
    </>
  );
}

/** `search` follows `typed` after a pause. It is in the address, so that the back button returns to it. */
function useSearch() {
  const [address, setAddress] = useSearchParams();
  const [typed, setTyped] = useState(address.get("search") ?? "");
  const [search] = useDebouncedValue(typed.trim(), 250);
  useEffect(() => {
    if (search !== (address.get("search") ?? "")) setAddress(search === "" ? {} : { search }, { replace: true });
  }, [search, address, setAddress]);
  return { typed, setTyped, search };
}

type NothingFoundProps = { search: string; hasMore: boolean; onShowAll: () => void };

const NothingFound = ({ search, hasMore, onShowAll }: NothingFoundProps) => (
  <div role="status">
    <EmptyState
      Icon={IconSearch}
      title={hasMore ? "No project found yet" : "No project found"}
      text={hasMore ? `No title of your newest projects contains “${search}”.` : `No title contains “${search}”.`}
      action={
        <Button variant="default" onClick={onShowAll}>
          Show all projects
        </Button>
      }
    />
  </div>
);

function Cards({ projects }: { projects: ListedProject[] }) {
  const { data: films } = useFilmChoice(projects.some(({ filmId }) => filmId !== null));
  return (
    <div className={classes.grid}>
      {projects.map((project) => (
        <ProjectCard
          key={project.projectId}
          project={project}
          film={films?.find(({ filmId }) => filmId === project.filmId)}
        />
      ))}
    </div>
  );
}

const A_PAGE = 24;
/** After so many empty pages, a search waits for “Keep searching”: each page makes Postgres read thousands of projects. */
const PAGES_WITHOUT_ASKING = 4;
/** The pause for each page that is shown, because a refresh reads all pages. */
const WHILE_RUNNING_MS = 3_000;
const OTHERWISE_MS = 60_000;

/** One answer searches a limited number of projects: after an empty one, others may match. `isSearching`: the next is being read. */
function useProjects(search: string) {
  const keyframe = useKeyframe();
  const deleted = useDeleted();
  const list = useInfiniteQuery({
    queryKey: queryKeys.projects(search),
    queryFn: ({ pageParam: cursor, signal }) => {
      const query = { include: "predictions", limit: A_PAGE, cursor, search: search || undefined } as const;
      return keyframe.projects.list(query, { signal });
    },
    placeholderData: keepPreviousData, // the former search, while another one is read
    ...PAGED,
    refetchInterval: ({ state }) => pauseAfter(state.data?.pages ?? []),
  });
  const { data, hasNextPage, fetchNextPage, isFetchingNextPage } = list;
  const projects = data?.pages.flatMap((page) => page.projects).filter(({ projectId }) => !deleted.has(projectId));
  const isNothing = projects?.length === 0 && !list.isPlaceholderData;
  const mayGoOn = (data?.pages.length ?? 0) % PAGES_WITHOUT_ASKING !== 0 && !list.isFetchNextPageError;
  const isSearching = isNothing && hasNextPage && mayGoOn;
  useEffect(() => {
    if (isSearching && !isFetchingNextPage) void fetchNextPage();
  }, [isSearching, isFetchingNextPage, fetchNextPage]);
  return { list, projects, isNothing, isSearching };
}

function pauseAfter(pages: ProjectPage[]): number {
  const isAnyRunning = pages.some(({ projects }) => projects.some((project) => runningOf(project).length > 0));
  return isAnyRunning ? WHILE_RUNNING_MS * pages.length : OTHERWISE_MS;
}
