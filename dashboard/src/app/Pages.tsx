import { type ComponentType, lazy, Suspense } from "react";
import { HashRouter, Navigate, Route, Routes } from "react-router";
import { SignedIn, SignedOut } from "../session/guards.tsx";
import { Missing } from "../ui/page-parts.tsx";
import { Layout } from "./Layout.tsx";

/** A page, loaded when it is first opened. */
const page = (load: () => Promise<{ Component: ComponentType }>) =>
  lazy(async () => ({ default: (await load()).Component }));

const SignIn = page(() => import("../session/SignInPage.tsx"));
const SignUp = page(() => import("../session/SignUpPage.tsx"));
const ResetPassword = page(() => import("../session/ResetPasswordPage.tsx"));
const NewPassword = page(() => import("../session/NewPasswordPage.tsx"));
const Projects = page(() => import("../projects/ProjectsPage.tsx"));
const Films = page(() => import("../films/FilmsPage.tsx"));
const Film = page(() => import("../films/FilmPage.tsx"));
const Elements = page(() => import("../elements/ElementsPage.tsx"));
const SharedFilm = page(() => import("../films/SharedFilmPage.tsx"));
const Project = page(() => import("../project-page/ProjectPage.tsx"));
const Webhooks = page(() => import("../webhooks/WebhooksPage.tsx"));
const Webhook = page(() => import("../webhooks/WebhookPage.tsx"));
const Keys = page(() => import("../keys/KeysPage.tsx"));
const Usage = page(() => import("../usage/UsagePage.tsx"));

const NOTHING_HERE = "The address is wrong or the page was deleted.";
const notFound = <Missing title="Page not found" text={NOTHING_HERE} to="/projects" label="Go to projects" />;

/** Routes. They are behind the #, so any static host works. */
export function Pages() {
  return (
    <HashRouter>
      <Suspense>
        <Routes>
          <Route path="/shared/:token" element={<SharedFilm />} />
          <Route element={<SignedOut />}>
            <Route path="/sign-in" element={<SignIn />} />
            <Route path="/sign-up" element={<SignUp />} />
            <Route path="/reset-password" element={<ResetPassword />} />
          </Route>
          <Route element={<SignedIn />}>
            <Route path="/new-password" element={<NewPassword />} />
            <Route element={<Layout />}>
              <Route index element={<Navigate to="/projects" replace />} />
              <Route path="/projects" element={<Projects />} />
              <Route path="/projects/:projectId" element={<Project />} />
              <Route path="/films" element={<Films />} />
              <Route path="/films/:filmId" element={<Film />} />
              <Route path="/elements" element={<Elements />} />
              <Route path="/webhooks" element={<Webhooks />} />
              <Route path="/webhooks/:webhookId" element={<Webhook />} />
              <Route path="/keys" element={<Keys />} />
              <Route path="/usage" element={<Usage />} />
              <Route path="*" element={notFound} />
            </Route>
          </Route>
        </Routes>
      </Suspense>
    </HashRouter>
  );
}
