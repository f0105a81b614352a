BEGIN TRANSACTION;
CREATE TABLE bayescm_batches (
	classifier TEXT NOT NULL, 
	entry BIGINT NOT NULL, 
	batch_id TEXT NOT NULL, 
	at TEXT NOT NULL, 
	cells TEXT NOT NULL, 
	corrects TEXT, 
	recorded_at TEXT NOT NULL, 
	PRIMARY KEY (classifier, entry), 
	UNIQUE (classifier, batch_id), 
	UNIQUE (classifier, corrects), 
	FOREIGN KEY(classifier) REFERENCES bayescm_classifiers (classifier)
);
INSERT INTO "bayescm_batches" VALUES('spam filter',1,'day 0','2026-01-01T00:00:00.000000Z','[[45, 5], [5, 45]]',NULL,'2026-11-22T11:10:55.533497Z');
INSERT INTO "bayescm_batches" VALUES('spam filter',2,'day 1','2026-01-02T00:00:00.000000Z','[[45, 5], [6, 44]]',NULL,'2026-11-22T11:10:55.578230Z');
INSERT INTO "bayescm_batches" VALUES('spam filter',3,'day 2','2026-01-03T00:00:00.000000Z','[[45, 5], [4, 46]]',NULL,'2026-11-22T11:10:55.608463Z');
INSERT INTO "bayescm_batches" VALUES('spam filter',4,'day 3','2026-01-04T00:00:00.000000Z','[[45, 5], [30, 20]]',NULL,'2026-11-22T11:10:55.632104Z');
INSERT INTO "bayescm_batches" VALUES('spam filter',5,'day 4','2026-01-05T00:00:00.000000Z','[[45, 5], [32, 18]]',NULL,'2026-11-22T11:10:55.664077Z');
INSERT INTO "bayescm_batches" VALUES('spam filter',6,'day 5','2026-01-06T00:00:00.000000Z','[[45, 5], [28, 22]]',NULL,'2026-11-22T11:10:55.688102Z');
INSERT INTO "bayescm_batches" VALUES('spam filter',7,'day 2 again','2026-01-03T00:00:00.000000Z','[[45, 5], [7, 43]]','day 2','2026-11-22T11:10:55.712063Z');
INSERT INTO "bayescm_batches" VALUES('animals שלום',1,'1','2026-02-01T00:00:00.000000Z','[[9, 1, 0], [2, 8, 1], [0, 1, 9]]',NULL,'2026-11-22T11:10:55.767353Z');
CREATE TABLE bayescm_classifiers (
	classifier TEXT NOT NULL, 
	labels TEXT NOT NULL, 
	PRIMARY KEY (classifier)
);
INSERT INTO "bayescm_classifiers" VALUES('spam filter','{"labels": ["negative", "positive"], "positive": "positive"}');
INSERT INTO "bayescm_classifiers" VALUES('animals שלום','{"labels": ["a", "b", "c"], "positive": null}');
CREATE TABLE bayescm_schema (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "bayescm_schema" VALUES(1);
CREATE TRIGGER bayescm_schema_no_update BEFORE UPDATE ON bayescm_schema BEGIN SELECT RAISE(ABORT, 'bayescm_schema is append-only'); END;
CREATE TRIGGER bayescm_schema_no_delete BEFORE DELETE ON bayescm_schema BEGIN SELECT RAISE(ABORT, 'bayescm_schema is append-only'); END;
CREATE TRIGGER bayescm_classifiers_no_update BEFORE UPDATE ON bayescm_classifiers BEGIN SELECT RAISE(ABORT, 'bayescm_classifiers is append-only'); END;
CREATE TRIGGER bayescm_classifiers_no_delete BEFORE DELETE ON bayescm_classifiers BEGIN SELECT RAISE(ABORT, 'bayescm_classifiers is append-only'); END;
CREATE TRIGGER bayescm_batches_no_update BEFORE UPDATE ON bayescm_batches BEGIN SELECT RAISE(ABORT, 'bayescm_batches is append-only'); END;
CREATE TRIGGER bayescm_batches_no_delete BEFORE DELETE ON bayescm_batches BEGIN SELECT RAISE(ABORT, 'bayescm_batches is append-only'); END;
COMMIT;
