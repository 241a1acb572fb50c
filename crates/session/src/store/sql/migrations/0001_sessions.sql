-- Sessions with their artifacts, state and log. SQLite and PostgreSQL run the same text: only TEXT and BIGINT, times in
-- milliseconds since 1970, JSON as text. `home` and `artifact` are hashes of names, so that an index entry stays small.

CREATE TABLE tapster_sessions (
    home TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    session TEXT NOT NULL,
    -- how many records of the log have a number
    records BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    -- the highest turn that was completed
    played BIGINT NOT NULL
);
CREATE INDEX tapster_sessions_owner ON tapster_sessions (owner);

-- the latest version of each artifact; its value is in tapster_versions
CREATE TABLE tapster_heads (
    artifact TEXT NOT NULL PRIMARY KEY,
    home TEXT NOT NULL,
    tag TEXT NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX tapster_heads_home ON tapster_heads (home);

-- every version that is kept, the latest included
CREATE TABLE tapster_versions (
    artifact TEXT NOT NULL,
    version BIGINT NOT NULL,
    based_on BIGINT,
    at_ms BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (artifact, version)
);
CREATE INDEX tapster_versions_turn ON tapster_versions (artifact, turn, version);
CREATE INDEX tapster_versions_time ON tapster_versions (artifact, at_ms, version);

-- versions that left their window; `record` is the number of the record of the log that says so
CREATE TABLE tapster_archive (
    artifact TEXT NOT NULL,
    version BIGINT NOT NULL,
    home TEXT NOT NULL,
    tag TEXT NOT NULL,
    based_on BIGINT,
    at_ms BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    value TEXT NOT NULL,
    record BIGINT NOT NULL,
    archived_ms BIGINT NOT NULL,
    archived_turn BIGINT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (artifact, version)
);
CREATE INDEX tapster_archive_home ON tapster_archive (home, record, version);

CREATE TABLE tapster_log (
    home TEXT NOT NULL,
    seq BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (home, seq)
);

CREATE TABLE tapster_states (
    home TEXT NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    value TEXT NOT NULL
);
